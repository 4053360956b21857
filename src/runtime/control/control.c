/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connection to adverbd: its memory and its descriptors. */
#include "runtime/control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>

#include "base/sys.h"
#include "runtime/control/internal.h"

int adv_control_watch(struct adv_control *c, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

	return adv_sys_epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? errno : 0;
}

/* Removes the socket from epoll before it closes it: if a child of fork() has a copy, a close alone
 * leaves the socket in epoll. */
void adv_control_hang_up(struct adv_control *c)
{
	if (c->sock >= 0)
		adv_sys_epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->sock, NULL);
	adv_control_close_fd(&c->sock);
}

void adv_control_set_timer(struct adv_control *c, uint64_t ms)
{
	struct itimerspec t = {.it_value = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L}};

	syscall(SYS_timerfd_settime, c->timer, 0, &t, NULL);
}

void adv_control_wake(struct adv_control *c)
{
	uint64_t one = 1;

	(void)!adv_sys_write(c->wake, &one, sizeof(one));
}

void adv_control_put_notice(struct adv_control *c, uint32_t what)
{
	c->pending |= what;
	adv_control_wake(c);
}

struct adv_control_slot *adv_control_find_slot(struct adv_control *c, uint32_t number)
{
	for (unsigned i = 0; i < c->slot_count; i++)
		if (c->slot[i].number == number)
			return &c->slot[i];
	return NULL;
}

struct adv_control *adv_control_new(void)
{
	struct adv_control *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	adv_control_queue_init(&c->queue);
	adv_control_restart_init(&c->restart);
	c->sock = -1;
	c->epoll = adv_sys_epoll_create(EPOLL_CLOEXEC);
	c->wake = adv_sys_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->timer = (int)syscall(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->epoll < 0 || c->wake < 0 || c->timer < 0 || adv_control_watch(c, c->wake) ||
	    adv_control_watch(c, c->timer)) {
		int saved = errno;

		adv_control_close(c);
		errno = saved;
		return NULL;
	}
	return c;
}

/* Does not acquire the lock: in a child of fork(), a thread that does not exist there may hold it.
 */
void adv_control_abandon(struct adv_control *c)
{
	const struct adv_gid_page *page = c->page;

	for (unsigned i = 0; i < c->slot_count; i++) {
		uint64_t *counters = c->slot[i].page;

		c->slot[i].page = NULL;
		if (counters)
			munmap(counters, ADV_CONTROL_PAGE_LEN);
	}
	while (c->fault_count)
		adv_control_close_fd(&c->fault[--c->fault_count]);
	adv_control_restart_close(&c->restart);
	adv_control_close_fd(&c->sock);
	adv_control_close_fd(&c->epoll);
	adv_control_close_fd(&c->wake);
	adv_control_close_fd(&c->timer);
	c->page = NULL;
	if (page)
		munmap((void *)(uintptr_t)page, sizeof(*page));
	c->state = CONTROL_GONE;
}

void adv_control_close(struct adv_control *c)
{
	struct adv_control_request *r;

	if (!c)
		return;
	while ((r = adv_control_queue_take_answered(&c->queue)))
		adv_control_close_fd(&r->fd);
	adv_control_abandon(c);
	adv_control_restart_free(&c->restart);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void adv_control_attend(struct adv_control *c)
{
	pthread_mutex_lock(&c->lock);
	c->attended = true;
	pthread_mutex_unlock(&c->lock);
}

int adv_control_fd(const struct adv_control *c)
{
	return c->epoll;
}

const struct adv_gid_table *adv_control_gids(const struct adv_control *c)
{
	return &c->page->table;
}

const struct adv_senders *adv_control_senders(const struct adv_control *c)
{
	return &c->page->senders;
}

int adv_control_take_fault(struct adv_control *c)
{
	int fd;

	pthread_mutex_lock(&c->lock);
	fd = c->fault_count ? c->fault[--c->fault_count] : -1;
	pthread_mutex_unlock(&c->lock);
	return fd;
}

struct adv_control_request *adv_control_take_answered(struct adv_control *c)
{
	struct adv_control_request *r;

	pthread_mutex_lock(&c->lock);
	r = adv_control_queue_take_answered(&c->queue);
	pthread_mutex_unlock(&c->lock);
	return r;
}
