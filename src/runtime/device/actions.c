/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Carries out the actions that progress.c returns: changes of the background thread's epoll set,
 * and wake-ups. */
#include "runtime/device/internal.h"

#include "base/sys.h"

int adv_device_watch(struct adv_device *d, int op, int fd, uint32_t events,
		     enum device_source source)
{
	struct epoll_event e = {.events = events, .data.u32 = source};

	return adv_sys_epoll_ctl(d->bg.epoll_fd, op, fd, &e);
}

int adv_device_watch_receive(struct adv_device *d, int op, bool armed)
{
	/* Edge-triggered: a packet that the thread left to the program does not wake the thread
	 * again. */
	return adv_device_watch(d, op, d->receive_fd, armed ? EPOLLIN | EPOLLET : 0,
				DEVICE_SOURCE_RECEIVE);
}

void adv_device_watch_send(struct adv_device *d, int fd)
{
	if (fd == d->bg.send_fd)
		return;
	if (d->bg.send_fd >= 0)
		(void)adv_device_watch(d, EPOLL_CTL_DEL, d->bg.send_fd, 0, DEVICE_SOURCE_SEND);
	if (fd >= 0)
		(void)adv_device_watch(d, EPOLL_CTL_ADD, fd, EPOLLOUT, DEVICE_SOURCE_SEND);
	d->bg.send_fd = fd;
}

static void arm_sockets(struct adv_device *d, bool armed)
{
	(void)adv_device_watch_receive(d, EPOLL_CTL_MOD, armed);
	if (d->bell_fd >= 0)
		(void)adv_device_watch(d, EPOLL_CTL_MOD, d->bell_fd, armed ? EPOLLIN : 0,
				       DEVICE_SOURCE_BELL);
	if (armed)
		return; /* the thread watches the send socket before it sleeps */
	/* When there is room, the program sends. The socket would wake the thread all the time. */
	adv_device_watch_send(d, -1);
	(void)adv_device_link_sleep(d, false);
}

void adv_device_perform(struct adv_device *d, unsigned actions)
{
	if (actions & (ADV_PROGRESS_ARM | ADV_PROGRESS_DISARM))
		arm_sockets(d, actions & ADV_PROGRESS_ARM);
	if (actions & ADV_PROGRESS_KICK)
		adv_device_wake_later(d, d->bg.kick_fd);
	if (actions & ADV_PROGRESS_WAKE_WAITER)
		adv_device_wake_later(d, d->waiting.fd);
}
