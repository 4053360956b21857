/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/spare.h"

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

int adv_spare_open(struct adv_spare *s)
{
	s->fd = eventfd(0, EFD_CLOEXEC);
	return s->fd < 0 ? errno : 0;
}

void adv_spare_close(struct adv_spare *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static int accept_one(int listener)
{
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int adv_spare_accept(struct adv_spare *s, int listener)
{
	int fd = accept_one(listener), error = errno;

	if (fd >= 0 || (error != EMFILE && error != ENFILE))
		return fd;
	adv_spare_close(s);
	fd = accept_one(listener);
	if (fd >= 0)
		close(fd);
	(void)adv_spare_open(s);
	errno = error;
	return -1;
}
