/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/keeper/given.h"

#include <sys/socket.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

void adv_given_refuse(int sock)
{
	const int off = 0;

	(void)setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}
