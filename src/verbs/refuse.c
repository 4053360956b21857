/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/refuse.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

int adv_ibv_refuse(int err)
{
	assert(err >= 0);
	if (err)
		errno = err;
	return err;
}

int adv_ibv_refuse_negative(int err)
{
	return -adv_ibv_refuse(err);
}

int adv_ibv_refuse_minus_one(int err)
{
	return adv_ibv_refuse(err) ? -1 : 0;
}

void *adv_ibv_refuse_object(int err)
{
	assert(err > 0);
	adv_ibv_refuse(err);
	return NULL;
}
