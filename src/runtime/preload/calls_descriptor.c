/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dup(2), fcntl(2): the record of how a descriptor was opened also holds for its copies. */
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "runtime/preload/lookup.h"

static int note_copy(int fd, int copy)
{
	adv_lookup_note_copy(fd, copy);
	return copy;
}

ADV_INTERPOSE int dup(int fd)
{
	int (*call)(int) = adv_next(ADV_NEXT("dup"));

	return note_copy(fd, call(fd));
}

ADV_INTERPOSE int dup2(int fd, int copy)
{
	int (*call)(int, int) = adv_next(ADV_NEXT("dup2"));

	return note_copy(fd, call(fd, copy));
}

ADV_INTERPOSE int dup3(int fd, int copy, int flags)
{
	int (*call)(int, int, int) = adv_next(ADV_NEXT("dup3"));

	return note_copy(fd, call(fd, copy, flags));
}

static int call_fcntl(struct adv_next *next, int fd, int command, void *argument)
{
	int (*call)(int, int, ...) = adv_next(next);
	int result = call(fd, command, argument);

	return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? note_copy(fd, result) : result;
}

/* The type of the argument depends on the command, and some commands have no argument. A pointer
 * can pass every type. */
ADV_INTERPOSE int fcntl(int fd, int command, ...)
{
	va_list args;
	void *argument;

	va_start(args, command);
	argument = va_arg(args, void *);
	va_end(args);
	return call_fcntl(ADV_NEXT("fcntl"), fd, command, argument);
}

ADV_INTERPOSE int fcntl64(int fd, int command, ...)
{
	va_list args;
	void *argument;

	va_start(args, command);
	argument = va_arg(args, void *);
	va_end(args);
	return call_fcntl(ADV_NEXT("fcntl64"), fd, command, argument);
}
