/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What one option --client says: a load from one address. */
#ifndef NFSBENCH_CLIENT_SPEC_H
#define NFSBENCH_CLIENT_SPEC_H

#include <stdint.h>

#define MAX_CLIENTS	64
#define CLIENT_NAME_MAX 32
#define CLIENT_HELP                                                                                \
	"work clients, can be repeated: NAME,KEY=VALUE,… with the keys from (address to come "   \
	"from), work (seq, random or write), flows, outstanding, request, size (bytes of a "       \
	"file), "                                                                                  \
	"first (number of the first file), commit (a writer sends COMMIT after so many bytes), "   \
	"export, dir; names that are equal up to a dot are one client"

enum client_work { CLIENT_SEQ, CLIENT_RANDOM, CLIENT_WRITE };

struct client_spec {
	char text[256]; /* the option's, cut at its commas: the strings below lie in it */
	const char *name;
	const char *from;	 /* numeric address, NULL: whichever the kernel takes */
	const char *export_path; /* NULL: as the other clients */
	const char *dir;	 /* the same */
	enum client_work work;
	uint64_t flows;	      /* each with a connection and, but random ones, a file of its own */
	uint64_t outstanding; /* of each flow */
	uint64_t request, size, commit; /* bytes; size 0: as --size; commit 0: never */
	uint64_t first;			/* UINT64_MAX: after the files of the clients before */
};

/* Fills *c. 0, or -1 after a message on stderr. */
int client_spec_parse(struct client_spec *c, const char *text);

#endif
