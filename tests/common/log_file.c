/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/adverb-log-XXXXXX";

void log_file_open(void)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(setenv("ADVERB_LOG_FILE", path, 1), 0);
	assert_int_equal(setenv("ADVERB_LOG", "warn", 1), 0);
}

const char *log_file_read(void)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	assert_int_equal(truncate(path, 0), 0);
	return text;
}

void log_file_remove(void)
{
	unlink(path);
}
