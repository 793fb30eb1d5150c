/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* The command line as it was typed, for reports. */
#ifndef NFSBENCH_COMMAND_LINE_H
#define NFSBENCH_COMMAND_LINE_H

/*
 * The words of ARGV with blanks between them, to be freed; NULL: no memory. To be called before
 * getopt_long(3), which reorders them.
 */
char *command_line_text(int argc, char **argv);

#endif
