/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first FPDU of a stream.
 *
 * The initiator repeats its ready-to-receive message. Linux's siw sends its reply before it
 * watches the connection for that message. If the message arrives in between, siw notices it only
 * when more bytes arrive, and its program waits for the connection. Requests that follow at once
 * are late, too. A WRITE of length 0 changes nothing at any peer, so the initiator sends more of
 * them while the peer sends nothing.
 *
 * The responder waits for the initiator's first FPDU. If the initiator has not offered such a
 * message, and the programs are peers, both would wait forever. So the responder waits for a time
 * in which its reply has most likely been read: siw as an initiator refuses a reply behind which
 * more bytes have arrived already. The whole time begins after the peer's TCP has acknowledged the
 * reply, since a reply that was lost arrives later. siw as a responder does not wait at all.
 */
#include "nic/iwarp/stream_internal.h"

#define REPEAT_AFTER_NS 20000000ull /* doubles each time */
#define REPEATS		6
#define PATIENCE_NS	100000000ull
#define LOOK_AGAIN_NS	20000000ull /* while the reply is under way */

static void first_timer_expired(struct adv_engine *e, struct adv_timer *t, uint64_t now)
{
	struct adv_rdmap_stream *s = adv_container_of(t, struct adv_rdmap_stream, first_timer);

	if (s->phase != ADV_RDMAP_OPEN)
		return;
	s->first_due = s->config.first == ADV_RDMAP_FIRST_WRITE;
	s->first_awaited = false;
	adv_qp_schedule(s->qp);
}

int adv_rdmap_first_start(struct adv_rdmap_stream *s)
{
	enum adv_rdmap_first first = s->config.first;

	adv_timer_init(&s->first_timer, first_timer_expired);
	s->first_due = first == ADV_RDMAP_FIRST_WRITE || first == ADV_RDMAP_FIRST_EMPTY;
	s->first_awaited = first == ADV_RDMAP_FIRST_OF_PEER || first == ADV_RDMAP_FIRST_HOPED;
	return adv_timers_reserve(&s->qp->engine->timers);
}

void adv_rdmap_first_stop(struct adv_rdmap_stream *s)
{
	adv_timer_remove(&s->qp->engine->timers, &s->first_timer);
	adv_timers_release(&s->qp->engine->timers);
}

void adv_rdmap_first_wait(struct adv_rdmap_stream *s, uint64_t now)
{
	if (s->config.first == ADV_RDMAP_FIRST_HOPED && s->first_timer.when == ADV_NEVER)
		adv_timer_set(&s->qp->engine->timers, &s->first_timer, now + PATIENCE_NS);
}

void adv_rdmap_first_framed(struct adv_rdmap_stream *s, uint64_t now)
{
	s->first_due = false;
	if (s->config.first != ADV_RDMAP_FIRST_WRITE || s->first_repeats == REPEATS)
		return;
	adv_timer_set(&s->qp->engine->timers, &s->first_timer,
		      now + (REPEAT_AFTER_NS << s->first_repeats));
	s->first_repeats++;
}

bool adv_rdmap_hopes(const struct adv_rdmap_stream *s)
{
	return s->config.first == ADV_RDMAP_FIRST_HOPED && !s->first_heard && s->framed_head == 0;
}

bool adv_rdmap_wants_look(const struct adv_rdmap_stream *s)
{
	return adv_rdmap_hopes(s) && !s->looked;
}

bool adv_rdmap_first_awaited(const struct adv_rdmap_stream *s)
{
	return s->first_awaited;
}

void adv_rdmap_reply_seen(struct adv_rdmap_stream *s, uint64_t now, bool acknowledged)
{
	s->looked = true;
	if (acknowledged && !s->reply_under_way)
		return;
	s->reply_under_way = !acknowledged;
	s->first_awaited = true;
	adv_timer_set(&s->qp->engine->timers, &s->first_timer,
		      now + (acknowledged ? PATIENCE_NS : LOOK_AGAIN_NS));
}
