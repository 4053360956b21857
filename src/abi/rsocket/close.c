/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shutting down and closing streams. Either end may stop sending (SHUTDOWN). The end that stops
 * both directions, or that stops second, sends DISCONNECT. Closing waits until the peer's hardware
 * has acknowledged the sent data: after this process has exited, nothing can retransmit it.
 */
#include <errno.h>
#include <string.h>

#include "abi/rsocket/service.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"
#include "abi/rsocket/wait.h"

#define CLOSE_US 60000000 /* the longest wait for a peer that does not acknowledge sent data */

static bool is_ctrl_sendable(struct adv_rsocket *rs)
{
	return rs->s.send.ctrl_free > 0 || rs->s.state != ADV_RS_CONNECTED;
}

static bool is_all_sent(struct adv_rsocket *rs)
{
	const struct adv_rs_sending *send = &rs->s.send;

	return rs->s.state != ADV_RS_CONNECTED ||
	       (send->requests_out == 0 && send->ctrl_free == ADV_RS_CTRL_SLOTS);
}

/* Waits until test() is true, also after a signal: a call that has done half of its work cannot
 * return EINTR. */
static void wait_through(struct adv_rsocket *rs, adv_rs_test *test, int64_t deadline)
{
	while (adv_rs_wait(rs, test, deadline) && errno == EINTR && adv_rs_now() < deadline)
		;
}

/* Sends a control message, unless the connection has ended. 0; or -1 and ETIMEDOUT at the deadline.
 */
static int send_ctrl(struct adv_rsocket *rs, enum adv_rs_ctrl what, int64_t deadline)
{
	wait_through(rs, is_ctrl_sendable, deadline);
	if (rs->s.state != ADV_RS_CONNECTED)
		return 0;
	if (rs->s.send.ctrl_free == 0)
		return adv_rs_error(ETIMEDOUT);
	adv_rs_stream_post_ctrl(rs, what);
	return 0;
}

/* Stops sending (SHUT_WR); with `both`, also receiving (SHUT_RDWR). */
static int stop_sending(struct adv_rsocket *rs, bool both, int64_t deadline)
{
	enum adv_rs_ctrl what = ADV_RS_CTRL_DISCONNECT;
	int ret;

	if (!rs->s.writable && !both)
		return 0;
	if (both)
		rs->s.readable = false;
	else if (rs->s.readable)
		what = ADV_RS_CTRL_SHUTDOWN;
	rs->s.writable = false;
	adv_rs_wake(rs);
	ret = send_ctrl(rs, what, deadline);
	if (what == ADV_RS_CTRL_DISCONNECT || !adv_rs_nonblocking(rs))
		wait_through(rs, is_all_sent, deadline);
	return ret;
}

int adv_rs_stream_shutdown(struct adv_rsocket *rs, int how)
{
	int64_t deadline = adv_rs_now() + CLOSE_US;
	int ret = 0;

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return adv_rs_error(EINVAL);
	adv_rs_progress(rs);
	switch (rs->s.state) {
	case ADV_RS_CONNECTED:
		break;
	case ADV_RS_DISCONNECTED:
	case ADV_RS_BROKEN:
		adv_rs_stream_disconnect(rs);
		return 0;
	default:
		return adv_rs_error(ENOTCONN);
	}
	if (how == SHUT_RD) {
		rs->s.readable = false;
		adv_rs_wake(rs);
		if (!rs->s.writable)
			ret = send_ctrl(rs, ADV_RS_CTRL_DISCONNECT, deadline);
	} else {
		ret = stop_sending(rs, how == SHUT_RDWR, deadline);
	}
	if (rs->s.state != ADV_RS_CONNECTED)
		adv_rs_stream_disconnect(rs);
	return ret;
}

/* Drops connections that a listener has accepted and raccept() has not returned. Without lock. */
static void drop_accepted(struct adv_rsocket *rs)
{
	struct adv_rsocket *one, *known;

	for (;;) {
		pthread_mutex_lock(&rs->lock);
		one = NULL;
		if (!adv_list_empty(&rs->s.accepted)) {
			one = adv_container_of(rs->s.accepted.next, struct adv_rsocket, s.sibling);
			adv_list_del(&one->s.sibling);
		}
		pthread_mutex_unlock(&rs->lock);
		if (!one)
			return;
		known = adv_rs_take(one->fd);
		if (known)
			adv_rs_put(known);
		adv_rs_stream_close(one);
		adv_rs_put(one);
	}
}

void adv_rs_stream_close(struct adv_rsocket *rs)
{
	const struct linger *linger = &rs->options.linger;
	bool drop = linger->l_onoff && linger->l_linger == 0;

	pthread_mutex_lock(&rs->lock);
	rs->closed = true;
	if (rs->s.state == ADV_RS_CONNECTED && !drop) {
		int64_t wait = linger->l_onoff ? linger->l_linger * INT64_C(1000000) : CLOSE_US;

		stop_sending(rs, true, adv_rs_now() + wait);
	}
	adv_rs_stream_disconnect(rs);
	adv_rs_stream_end(rs);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_service_remove(rs);
	drop_accepted(rs);
}
