/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int level_now = -1;

static const char *const level_names[] = {"none", "error", "warn", "info", "debug"};

static int level_from_environment(void)
{
	const char *want = secure_getenv("ADVERB_LOG");

	if (!want)
		return ADV_LOG_NONE;
	for (int i = 0; i <= ADV_LOG_DEBUG; i++)
		if (strcmp(want, level_names[i]) == 0)
			return i;
	return ADV_LOG_INFO;
}

bool adv_log_enabled(enum adv_log_level level)
{
	int now = atomic_load_explicit(&level_now, memory_order_relaxed);

	if (now < 0) {
		now = level_from_environment();
		atomic_store_explicit(&level_now, now, memory_order_relaxed);
	}
	return (int)level <= now;
}

void adv_log_set_level(enum adv_log_level level)
{
	atomic_store_explicit(&level_now, (int)level, memory_order_relaxed);
}

static void write_line(const char *line, size_t len)
{
	const char *path = secure_getenv("ADVERB_LOG_FILE");
	long fd = STDERR_FILENO;

	if (path)
		fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			     0600);
	if (fd < 0)
		return;
	(void)!syscall(SYS_write, fd, line, len);
	if (path)
		syscall(SYS_close, fd);
}

void adv_log(enum adv_log_level level, const char *fmt, ...)
{
	char line[512];
	int saved = errno;
	va_list ap;
	int n, m;

	if (!adv_log_enabled(level))
		return;
	n = snprintf(line, sizeof(line), "adverb[%d] %s: ", (int)getpid(), level_names[level]);
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	n += m < 0 ? 0 : m;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	write_line(line, (size_t)n);
	errno = saved;
}
