/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Logging. The log is silent unless the environment variable ADVERB_LOG names a level: error, warn,
 * info or debug. An unknown level causes one warning and counts as info. Lines go to standard
 * error, or to the file named by ADVERB_LOG_FILE. Each line is written by one raw system call
 * write(2), so that libraries that interpose write() are not entered again.
 */
#ifndef ADV_BASE_LOG_H
#define ADV_BASE_LOG_H

#include <stdbool.h>

enum adv_log_level { ADV_LOG_NONE, ADV_LOG_ERROR, ADV_LOG_WARN, ADV_LOG_INFO, ADV_LOG_DEBUG };

#define ADV_LOG_LEVELS "none, error, warn, info, debug"

/* Returns the log level with this name; -1: unknown. */
int adv_log_level_named(const char *name);

/* True if lines of this level are written. Any thread, cheap. */
bool adv_log_enabled(enum adv_log_level level);

/* Sets the level; the level of the environment then has no effect. The daemon and tools call it at
 * start. */
void adv_log_set_level(enum adv_log_level level);

/* If standard error is a stream of systemd's journal, makes lines for it as sd-daemon(3) describes:
 * "<3>" (the journal's priority) in place of the name and the level, which the journal adds.
 * adverbd calls it at start. */
void adv_log_for_journal(void);

/* The log of a server: the level is info, unless the environment asks for more; lines on standard
 * error begin as those in a file, "date time name[pid/thread] level: ...", or are for the journal.
 * `name` must stay valid. The server calls it at start. */
void adv_log_for_server(const char *name);

/* Writes one line "adverb[pid] level: ...", in a file "date time adverb[pid/thread] level: ...".
 * fmt: as for printf(3), without a newline. Keeps errno. */
void adv_log(enum adv_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define adv_error(...) adv_log(ADV_LOG_ERROR, __VA_ARGS__)
#define adv_warn(...)  adv_log(ADV_LOG_WARN, __VA_ARGS__)
#define adv_info(...)  adv_log(ADV_LOG_INFO, __VA_ARGS__)
#define adv_debug(...) adv_log(ADV_LOG_DEBUG, __VA_ARGS__)

#endif
