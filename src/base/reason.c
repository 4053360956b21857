/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/reason.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define LINE_LENGTH (ADV_REASON_LENGTH + 160)

static _Thread_local struct {
	int err; /* 0: no reason is kept */
	char text[ADV_REASON_LENGTH];
} kept;

/* The thread's newest line, and how often in a row it was to be written. */
static _Thread_local char last_line[LINE_LENGTH];
static _Thread_local unsigned long last_count;

static void keep_reason(int err, const char *fmt, va_list args)
{
	if (!adv_log_enabled(ADV_LOG_WARN))
		return;
	kept.err = err;
	vsnprintf(kept.text, sizeof(kept.text), fmt, args);
}

int adv_reason(int err, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	keep_reason(err, fmt, args);
	va_end(args);
	errno = saved;
	return err;
}

void *adv_reason_no_object(int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	keep_reason(err, fmt, args);
	va_end(args);
	errno = err;
	return NULL;
}

static bool is_power_of_ten(unsigned long n)
{
	while (n >= 10 && n % 10 == 0)
		n /= 10;
	return n == 1;
}

/* Writes a line unless it repeats the previous one too soon. */
static void write_once(const char *line)
{
	if (strcmp(line, last_line) != 0) {
		snprintf(last_line, sizeof(last_line), "%s", line);
		last_count = 0;
	}
	if (!is_power_of_ten(++last_count))
		return;
	if (last_count == 1)
		adv_warn("%s", line);
	else
		adv_warn("%s (%lu times)", line, last_count);
}

void adv_reason_vtell(int err, const char *call, va_list args)
{
	const char *name = strerrorname_np(err);
	char line[LINE_LENGTH];
	int saved = errno;
	int n;

	if (!adv_log_enabled(ADV_LOG_WARN))
		return;
	n = vsnprintf(line, sizeof(line), call, args);
	if (n < 0 || n >= (int)sizeof(line))
		n = 0;
	snprintf(line + n, sizeof(line) - (size_t)n, ": %s (%s)",
		 kept.err == err ? kept.text : strerrordesc_np(err), name ? name : "unknown error");
	kept.err = 0;
	write_once(line);
	errno = saved;
}

void adv_reason_tell(int err, const char *call, ...)
{
	va_list args;

	va_start(args, call);
	adv_reason_vtell(err, call, args);
	va_end(args);
}
