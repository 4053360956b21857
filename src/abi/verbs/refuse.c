/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/verbs/refuse.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include "base/reason.h"

static int refuse_call(int err, const char *call, va_list args)
{
	assert(err >= 0);
	if (err) {
		adv_reason_vtell(err, call, args);
		errno = err;
	}
	return err;
}

int adv_ibv_refuse(int err, const char *call, ...)
{
	va_list args;

	va_start(args, call);
	refuse_call(err, call, args);
	va_end(args);
	return err;
}

int adv_ibv_refuse_negative(int err, const char *call, ...)
{
	va_list args;

	va_start(args, call);
	refuse_call(err, call, args);
	va_end(args);
	return -err;
}

int adv_ibv_refuse_minus_one(int err, const char *call, ...)
{
	va_list args;

	va_start(args, call);
	refuse_call(err, call, args);
	va_end(args);
	return err ? -1 : 0;
}

void *adv_ibv_refuse_object(int err, const char *call, ...)
{
	va_list args;

	assert(err > 0);
	va_start(args, call);
	refuse_call(err, call, args);
	va_end(args);
	return NULL;
}

void *adv_ibv_refuse_import(const char *call, ...)
{
	va_list args;

	va_start(args, call);
	refuse_call(adv_reason(EOPNOTSUPP,
			       "a device in user space cannot share objects with another process"),
		    call, args);
	va_end(args);
	return NULL;
}

struct adv_engine *adv_ibv_refuse_foreign(void)
{
	return adv_reason_no_object(ADV_EFOREIGN,
				    "the device was opened before fork(), and a child cannot use "
				    "it: open the device in the child");
}
