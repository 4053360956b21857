/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The input of `adverb frame build` and `adverb frame dissect`. */
#ifndef ADV_CLI_FRAME_INPUT_H
#define ADV_CLI_FRAME_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#define ADV_INPUT_FILE_MAX 1073741824u

/* Reads a whole file ("-": standard input) and adds a 0 byte. If the file cannot be read, or is not
 * shorter than ADV_INPUT_FILE_MAX, prints an error that begins with `who` and returns NULL. The
 * caller frees the text. */
char *adv_input_read_file(const char *who, const char *name, size_t *len);

/* Handles a line. `where` is the name of the file and the number of the line. Returns false to
 * stop. */
typedef bool adv_input_line_fn(void *user, const char *where, const char *line, size_t len);

/* Calls fn with each line, without its line feed. If fn returns false, stops and returns false. */
bool adv_input_each_line(const char *name, const char *text, size_t len, adv_input_line_fn *fn,
			 void *user);

/* Reads bytes from hexadecimal digits; blanks and ':' between bytes are skipped. Returns the number
 * of bytes, or -1 if the text has other characters or more than `room` bytes. */
long adv_input_read_hex(const char *s, size_t len, unsigned char *out, size_t room);

#endif
