/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int level_now = -1;

static atomic_bool for_journal;
static _Atomic(const char *) server; /* the name of a server; NULL: it is none */

static const char *const level_names[] = {"none", "error", "warn", "info", "debug"};

int adv_log_level_named(const char *name)
{
	for (int i = 0; i <= ADV_LOG_DEBUG; i++)
		if (strcmp(name, level_names[i]) == 0)
			return i;
	return -1;
}

static int level_from_environment(bool *unknown)
{
	const char *want = secure_getenv("ADVERB_LOG");
	int level = want && *want ? adv_log_level_named(want) : ADV_LOG_NONE;

	*unknown = level < 0;
	return *unknown ? ADV_LOG_INFO : level;
}

static int find_level(void)
{
	int before = -1;
	bool unknown;
	int level = level_from_environment(&unknown);

	if (!atomic_compare_exchange_strong(&level_now, &before, level))
		return before;
	if (unknown)
		adv_warn("ADVERB_LOG=%.64s is none of: " ADV_LOG_LEVELS "; using info",
			 getenv("ADVERB_LOG"));
	return level;
}

bool adv_log_enabled(enum adv_log_level level)
{
	int now = atomic_load_explicit(&level_now, memory_order_relaxed);

	if (now < 0)
		now = find_level();
	return (int)level <= now;
}

void adv_log_set_level(enum adv_log_level level)
{
	atomic_store_explicit(&level_now, (int)level, memory_order_relaxed);
}

/* Priorities of syslog(3), by level. */
static const int journal_priority[] = {5, 3, 4, 6, 7};

/* True if standard error is a stream of systemd's journal: JOURNAL_STREAM is "DEVICE:INODE". */
static bool writes_to_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void adv_log_for_journal(void)
{
	atomic_store(&for_journal, writes_to_journal());
}

void adv_log_for_server(const char *name)
{
	if (!adv_log_enabled(ADV_LOG_INFO))
		adv_log_set_level(ADV_LOG_INFO);
	adv_log_for_journal();
	atomic_store(&server, name);
}

/* Writes to the file `path`, or to standard error if path is NULL. */
static void write_line(const char *path, const char *line, size_t len)
{
	long fd = STDERR_FILENO;

	if (path)
		fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			     0600);
	if (fd < 0) /* a file that cannot be written must not hide the message */
		fd = STDERR_FILENO;
	(void)!syscall(SYS_write, fd, line, len);
	if (fd != STDERR_FILENO)
		syscall(SYS_close, fd);
}

/* Writes the text before the message: in a file also the time and the thread, as several processes
 * may share the file; of a server likewise. Returns the length. */
static int write_prefix(char *line, size_t size, enum adv_log_level level, bool to_file)
{
	const char *name = atomic_load(&server);
	struct timespec now;
	struct tm local;
	size_t n;

	if (!to_file && atomic_load(&for_journal))
		return snprintf(line, size, "<%d>", journal_priority[level]);
	if (!to_file && !name)
		return snprintf(line, size, "adverb[%d] %s: ", (int)getpid(), level_names[level]);
	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &local);
	n = strftime(line, size, "%F %T", &local);
	return (int)n + snprintf(line + n, size - n, ".%06ld %s[%d/%ld] %s: ", now.tv_nsec / 1000,
				 name ? name : "adverb", (int)getpid(), syscall(SYS_gettid),
				 level_names[level]);
}

void adv_log(enum adv_log_level level, const char *fmt, ...)
{
	const char *path;
	char line[1024];
	int saved = errno;
	va_list ap;
	int n, m;

	if (!adv_log_enabled(level))
		return;
	path = secure_getenv("ADVERB_LOG_FILE");
	n = write_prefix(line, sizeof(line), level, path != NULL);
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	n += m < 0 ? 0 : m;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	write_line(path, line, (size_t)n);
	errno = saved;
}
