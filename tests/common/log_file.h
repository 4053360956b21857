/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Directs the log of a test program to a file, in which the test finds what was logged. */
#ifndef ADV_TESTS_COMMON_LOG_FILE_H
#define ADV_TESTS_COMMON_LOG_FILE_H

/* Makes the file, and sets ADVERB_LOG and ADVERB_LOG_FILE for warnings. Call it before the first
 * line is logged. */
void log_file_open(void);
/* Returns what was logged since the last call, and empties the file. The text is valid until the
 * next call. */
const char *log_file_read(void);
void log_file_remove(void);

#endif
