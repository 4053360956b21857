/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the two halves of `adverb frame` share. */
#ifndef ADV_CLI_FRAME_H
#define ADV_CLI_FRAME_H

#include "cli/command.h"

int adv_frame_build_main(int argc, char **argv);
int adv_frame_dissect_main(int argc, char **argv);

#define ADV_FRAME_FILE_MAX 1073741824u

/*
 * A whole file, "-" for standard input, with a 0 byte behind it. NULL, and said on standard error
 * as `who`: it cannot be read, or is not shorter than ADV_FRAME_FILE_MAX. The caller frees it.
 */
char *adv_frame_read_file(const char *who, const char *name, size_t *len);

/* What is done with a line, of which `where` is the file's name and its number; false ends it. */
typedef bool adv_frame_line_fn(void *user, const char *where, const char *line, size_t len);

/* Hands on each line, without its end; false where fn said so. */
bool adv_frame_each_line(const char *name, const char *text, size_t len, adv_frame_line_fn *fn,
			 void *user);

/*
 * Bytes from hexadecimal digits, of which any blanks and ':' between bytes are skipped. Returns how
 * many, or -1 where something else is there, or more than room.
 */
long adv_frame_read_hex(const char *s, size_t len, unsigned char *out, size_t room);

#endif
