/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Disconnects clients that make no progress, or little. A client that takes no replies holds memory
 * which the others need. One that is silent may have crashed: RDMA connections have no keep-alive.
 */
#include "storage/nfs_gateway/session_internal.h"

enum { IDLE_CHECKS = 6 };

static void disconnect_client(struct adv_nfs_session *s, const char *why)
{
	adv_gateway_report(&s->gateway->log, ADV_LOG_WARN, "%s: %s, and is disconnected", s->peer,
			   why);
	adv_endpoint_close(s->endpoint);
}

/* True if something was posted before the last checks and has not completed. */
static bool is_late(struct adv_nfs_session *s)
{
	unsigned *before = &s->posted_before[s->checks++ % ADV_TURN_LATEST];
	bool late = s->checks > ADV_TURN_LATEST && (int)(s->completed - *before) < 0;

	*before = s->posted_ever;
	return late;
}

static void check_progress(struct adv_kit_timer *t)
{
	struct adv_nfs_session *s = adv_container_of(t, struct adv_nfs_session, progress);
	bool stuck = s->posted > 0 && s->completed == s->completed_before;
	bool idle = s->call_count == 0 && s->received == s->received_before;
	bool late = is_late(s);

	s->completed_before = s->completed;
	s->received_before = s->received;
	s->idle_checks = idle ? s->idle_checks + 1 : 0;
	if (stuck)
		disconnect_client(s, "the client takes no data");
	else if (late)
		disconnect_client(s, "the client takes data too slowly");
	else if (s->idle_checks == IDLE_CHECKS)
		disconnect_client(s, "the client is idle");
	else
		adv_loop_start_timer(s->gateway->loop, t, s->gateway->timeout_ms);
}

void adv_nfs_progress_start(struct adv_nfs_session *s)
{
	adv_kit_timer_init(&s->progress, check_progress);
	adv_loop_start_timer(s->gateway->loop, &s->progress, s->gateway->timeout_ms);
}

void adv_nfs_progress_stop(struct adv_nfs_session *s)
{
	adv_kit_timer_cancel(&s->progress);
}

void adv_nfs_post(struct adv_nfs_session *s, struct adv_kit_work *w)
{
	/* The first work after a pause gets the whole time. */
	if (s->posted++ == 0)
		s->completed_before = s->completed - 1;
	s->posted_ever++;
	adv_endpoint_post(s->endpoint, w);
}

void adv_nfs_completed(struct adv_nfs_session *s)
{
	s->posted--;
	s->completed++;
}
