/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests, answers and notices over a connection to adverbd. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/sys.h"
#include "runtime/control/internal.h"

/* Sends queued requests. If a send fails, sets the timer for another attempt. */
static void send_queued(struct adv_control *c)
{
	struct adv_control_request *r;

	while ((r = adv_control_queue_next(&c->queue))) {
		int error;

		r->message.serial = ++c->serial;
		error = adv_control_message_send(c->sock, &r->message);
		/* EPIPE: receiving will report the end, and r is then sent again. */
		if (error && error != EPIPE) {
			adv_control_set_timer(c, ADV_CONTROL_RETRY_MS);
			return;
		}
		adv_control_queue_sent(&c->queue, r);
	}
}

/* If there is room, keeps the socket of a notice about faults and sets *fd to -1. */
static void keep_fault(struct adv_control *c, int *fd)
{
	if (*fd < 0 || c->fault_count == ADV_CONTROL_FAULTS)
		return;
	c->fault[c->fault_count++] = *fd;
	*fd = -1;
}

static void receive_notice(struct adv_control *c, const struct adv_control_message *m, int *fd)
{
	uint32_t what = m->body.notice.what;

	if (what & ADV_CONTROL_NOTICE_FAULT)
		keep_fault(c, fd);
	if (what & ADV_CONTROL_NOTICE_LEAVING)
		adv_control_restart_close(&c->restart);
	adv_control_put_notice(c, what);
}

static void receive_message(struct adv_control *c, const struct adv_control_message *m, int *fd)
{
	struct adv_control_request *r;

	if (m->type == ADV_CONTROL_NOTICE) {
		receive_notice(c, m, fd);
		return;
	}
	if (c->state == CONTROL_RESUMING) {
		adv_control_resumed(c, m, *fd);
		return;
	}
	r = adv_control_queue_find(&c->queue, m->serial);
	if (r) {
		adv_control_queue_answer(&c->queue, r, m, fd);
		if (r->awaited)
			adv_change_announce(&c->answers);
		else
			adv_control_wake(c);
	} else if (m->type == ADV_CONTROL_REFUSED) {
		adv_control_give_up(c, m->body.text);
	}
}

/* With the lock held: runs the timer, sends queued requests and reads all queued messages. Does not
 * block. */
static void progress_exchange(struct adv_control *c)
{
	for (;;) {
		struct adv_control_message m;
		int fd, error;

		adv_control_timer(c);
		if (c->state == CONTROL_LIVE)
			send_queued(c);
		if (c->state == CONTROL_GONE || c->state == CONTROL_RETRYING)
			return;
		error = adv_control_message_receive(c->sock, &m, &fd);
		if (error == EAGAIN)
			return;
		if (error == EPROTO) {
			adv_control_give_up(c, "it sent a message that is not in the protocol");
			return;
		}
		if (error) {
			adv_control_lost(c);
			continue;
		}
		receive_message(c, &m, &fd);
		adv_control_close_fd(&fd);
	}
}

static enum adv_control_notice next_notice(struct adv_control *c)
{
	static const struct {
		uint32_t bit;
		enum adv_control_notice notice;
	} notices[] = {
		{ADV_CONTROL_NOTICE_GIDS, ADV_NOTICE_GIDS_CHANGED},
		{ADV_CONTROL_NOTICE_PORT, ADV_NOTICE_PORT_CHANGED},
		{ADV_CONTROL_NOTICE_PAIRS, ADV_NOTICE_PAIRS_CHANGED},
	};
	uint64_t count;

	if (!adv_list_empty(&c->queue.answered))
		return ADV_NOTICE_ANSWERED;
	for (size_t i = 0; i < ADV_ARRAY_SIZE(notices); i++) {
		if (c->pending & notices[i].bit) {
			c->pending &= ~notices[i].bit;
			return notices[i].notice;
		}
	}
	if (c->fault_count)
		return ADV_NOTICE_FAULT;
	c->pending = 0;
	(void)!adv_sys_read(c->wake, &count, sizeof(count));
	return c->state == CONTROL_GONE ? ADV_NOTICE_GONE : ADV_NOTICE_NONE;
}

enum adv_control_notice adv_control_read(struct adv_control *c)
{
	enum adv_control_notice notice;

	pthread_mutex_lock(&c->lock);
	progress_exchange(c);
	notice = next_notice(c);
	pthread_mutex_unlock(&c->lock);
	return notice;
}

/* With the lock held: queues a request, and sends it if the connection is live. 0 or ECONNRESET. */
static int post_request(struct adv_control *c, struct adv_control_request *r)
{
	if (c->state == CONTROL_GONE)
		return ECONNRESET;
	adv_control_queue_add(&c->queue, r);
	if (c->state == CONTROL_LIVE)
		send_queued(c);
	return 0;
}

int adv_control_post(struct adv_control *c, struct adv_control_request *r)
{
	int error;

	pthread_mutex_lock(&c->lock);
	r->awaited = false;
	error = post_request(c, r);
	pthread_mutex_unlock(&c->lock);
	return error;
}

/* Blocks until another thread has read an answer, for at most `ms` ms. Call it with the lock held;
 * it releases the lock while it blocks. */
static void wait_for_attendant(struct adv_control *c, uint64_t ms)
{
	uint32_t seen = adv_change_count(&c->answers);

	pthread_mutex_unlock(&c->lock);
	adv_change_wait(&c->answers, seen, ms * 1000000u);
	pthread_mutex_lock(&c->lock);
}

/* Blocks until there is something to read, for at most `ms` ms, and reads it. Call it with the lock
 * held; it releases the lock while it blocks. */
static void wait_and_read(struct adv_control *c, uint64_t ms)
{
	struct pollfd p[2] = {{.fd = c->timer, .events = POLLIN},
			      {.fd = c->sock, .events = POLLIN}};
	nfds_t n = c->sock >= 0 ? 2 : 1;

	pthread_mutex_unlock(&c->lock);
	adv_control_restart_daemon(c);
	(void)adv_sys_poll(p, n, (int)ms);
	pthread_mutex_lock(&c->lock);
	progress_exchange(c);
}

static int wait_for_answer(struct adv_control *c, struct adv_control_request *r)
{
	uint64_t until = adv_clock_ms() + ADV_CONTROL_ANSWER_WAIT_MS;

	while (adv_control_request_is_pending(r)) {
		uint64_t now = adv_clock_ms();

		if (now >= until) {
			adv_control_queue_remove(&c->queue, r);
			return ETIMEDOUT;
		}
		if (c->attended)
			wait_for_attendant(c, until - now);
		else
			wait_and_read(c, until - now);
	}
	return 0;
}

int adv_control_ask(struct adv_control *c, struct adv_control_message *m, int *fd)
{
	/* The request is not on the stack, because a signal handler may leave this call by
	 * longjmp(). */
	struct adv_control_request *r = calloc(1, sizeof(*r));
	int error;

	*fd = -1;
	if (!r)
		return ENOMEM;
	r->message = *m;
	r->awaited = true;
	pthread_mutex_lock(&c->lock);
	error = post_request(c, r);
	if (!error)
		error = wait_for_answer(c, r);
	if (!error) {
		error = r->error;
		*m = r->message;
		*fd = r->fd;
	}
	pthread_mutex_unlock(&c->lock);
	free(r);
	return error;
}
