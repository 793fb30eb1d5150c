/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * NFSv4.0 through libnfs: nfs4_io PORT EXPORT COMMAND FILE [MIB]
 *
 *   write FILE MIB    writes it unstable unit by unit, every fourth twice, and commits
 *   verify FILE MIB   reads it in order and then every seventh unit, and compares every byte
 *   truncate FILE MIB cuts it, and sees the size at once
 *
 * The 8 bytes at offset o hold o / 8 and how often they were written, so no two places are alike.
 * Exit status: 0, 1 (told on stderr), 2 for a wrong call.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nfsc/libnfs.h>

#define UNIT	 65536
#define REWRITES 4    /* each so many-th unit is written twice */
#define STRIDE	 7    /* units */
#define PIECE	 2048 /* of one WRITE: the libnfs of Debian 12 has no room for much more */

static struct nfs_context *nfs;

static int failed(const char *what)
{
	fprintf(stderr, "nfs4_io: %s: %s\n", what, nfs_get_error(nfs));
	return 1;
}

static void fill(char *data, uint64_t at, uint64_t version)
{
	for (uint64_t i = 0; i < UNIT / 8; i++) {
		uint64_t word = (at / 8 + i) | version << 56;

		memcpy(data + i * 8, &word, 8);
	}
}

static int write_unit(struct nfsfh *file, uint64_t unit, uint64_t version)
{
	char data[UNIT];

	fill(data, unit * UNIT, version);
	for (uint64_t at = 0; at < UNIT; at += PIECE)
		if (nfs_pwrite(nfs, file, unit * UNIT + at, PIECE, data + at) != PIECE)
			return failed("write");
	return 0;
}

static int write_all(const char *path, uint64_t units)
{
	struct nfsfh *file;
	int err = 0;

	/* not nfs_creat(): in Debian 12 it opens for reading */
	if (nfs_open(nfs, path, O_CREAT | O_RDWR, &file))
		return failed("create");
	for (uint64_t u = 0; u < units && !err; u++)
		err = write_unit(file, u, 1);
	for (uint64_t u = 0; u < units && !err; u += REWRITES)
		err = write_unit(file, u, 2);
	if (!err && nfs_fsync(nfs, file))
		err = failed("commit");
	if (nfs_close(nfs, file))
		err = failed("close");
	return err;
}

static int compare_unit(struct nfsfh *file, uint64_t unit)
{
	char data[UNIT], wanted[UNIT];

	fill(wanted, unit * UNIT, unit % REWRITES ? 1 : 2);
	if (nfs_pread(nfs, file, unit * UNIT, UNIT, data) != UNIT)
		return failed("read");
	if (!memcmp(data, wanted, UNIT))
		return 0;
	fprintf(stderr, "nfs4_io: unit %" PRIu64 ": wrong bytes\n", unit);
	return 1;
}

static int verify_all(const char *path, uint64_t units)
{
	struct nfsfh *file;
	int err = 0;

	if (nfs_open(nfs, path, O_RDONLY, &file))
		return failed("open");
	for (uint64_t u = 0; u < units && !err; u++)
		err = compare_unit(file, u);
	for (uint64_t u = 0; u < units && !err; u += STRIDE)
		err = compare_unit(file, u);
	if (nfs_close(nfs, file))
		err = failed("close");
	return err;
}

static int cut(const char *path, uint64_t units)
{
	struct nfs_stat_64 st;

	if (nfs_truncate(nfs, path, units * UNIT) || nfs_stat64(nfs, path, &st))
		return failed("truncate");
	if (st.nfs_size == units * UNIT)
		return 0;
	fprintf(stderr, "nfs4_io: %" PRIu64 " bytes after truncation\n", st.nfs_size);
	return 1;
}

static const struct {
	const char *name;
	int (*run)(const char *path, uint64_t units);
} commands[] = {{"write", write_all}, {"verify", verify_all}, {"truncate", cut}};

static int run(char **word)
{
	uint64_t units = strtoull(word[4], NULL, 10) * ((1 << 20) / UNIT);
	struct nfs_url *url;
	char text[256];
	int err;

	snprintf(text, sizeof(text), "nfs://127.0.0.1%s?version=4&nfsport=%s", word[1], word[0]);
	url = nfs_parse_url_dir(nfs, text);
	if (!url)
		return failed(text);
	err = nfs_mount(nfs, url->server, url->path);
	nfs_destroy_url(url);
	if (err)
		return failed("mount");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(word[2], commands[i].name))
			return commands[i].run(word[3], units);
	return 2;
}

int main(int argc, char **argv)
{
	int status;

	if (argc != 6) {
		fprintf(stderr, "usage: nfs4_io PORT EXPORT write|verify|truncate FILE MIB\n");
		return 2;
	}
	nfs = nfs_init_context();
	if (!nfs)
		return 1;
	status = run(argv + 1);
	nfs_destroy_context(nfs);
	return status;
}
