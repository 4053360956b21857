/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/queue.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "nic/wire/gid.h"
#include "nic/wire/headers.h"

#define POSTS_IN_ERROR 4	   /* calls; a program may post some requests to drain the queues */
#define VAIN_NS	       1000000000u /* polls of a program that does not wait end within it */

/* ---- a send queue that no completion frees ---- */

/* True if the queue has requests, and no completion will come for any of them. */
static bool gives_no_completion(const struct adv_check_qp *qp)
{
	if (qp->sends.count == 0 || !adv_check_qp_is_live(qp))
		return false;
	adv_list_for_each(const struct adv_check_work, w, &qp->sends.works, link)
		if (w->signaled)
			return false;
	return true;
}

static struct adv_check_finding unsignaled_finding(struct adv_check_call *call,
						   const struct adv_check_qp *qp)
{
	const struct adv_check_work *oldest =
		adv_container_of(qp->sends.works.next, struct adv_check_work, link);

	return (struct adv_check_finding){
		.rule = ADV_RULE_UNSIGNALED_QUEUE_FULL,
		.fault = adv_check_call_stack(call),
		.more = {{"the oldest of the requests was posted here", &oldest->posted}},
		.about = &qp->base,
	};
}

void adv_check_send_queue_full(struct adv_check_call *call, const struct adv_check_qp *qp)
{
	struct adv_check_finding f;

	if (!gives_no_completion(qp))
		return;
	f = unsignaled_finding(call, qp);
	adv_check_find(&f,
		       "%s(%s): the send queue is full, and none of its %u requests is signaled: "
		       "no completion will free it",
		       call->name, qp->base.name, qp->sends.count);
}

/* True if the program has filled the queue as far as it asked for, and the device has finished all
 * of its requests. */
static bool is_stuck(const struct adv_check_qp *qp)
{
	return qp->sends.count >= qp->requested.max_send_wr && gives_no_completion(qp) &&
	       adv_check_libibverbs->sends_ended(qp->qp) == qp->sends_posted;
}

/* Returns a queue pair that can give no completion to the CQ any more, although the program waits
 * for one. NULL: there is none, or another one may give some: messages to an SRQ may come at any
 * time. */
static const struct adv_check_qp *find_stuck(const struct adv_check_cq *cq)
{
	const struct adv_check_qp *stuck = NULL;

	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_QP), link) {
		const struct adv_check_qp *qp = (struct adv_check_qp *)o;

		if (o->destroying)
			continue;
		if (qp->recv_cq == cq && qp->qp->srq)
			return NULL;
		if (qp->send_cq == cq && is_stuck(qp))
			stuck = qp;
	}
	return stuck;
}

static void find_wait(struct adv_check_call *call, const struct adv_check_cq *cq)
{
	const struct adv_check_qp *qp = find_stuck(cq);
	struct adv_check_finding f;

	if (!qp)
		return;
	f = unsignaled_finding(call, qp);
	adv_check_find(
		&f,
		"%s: the program waits for a completion in %s, and none can come: %s has %u send "
		"requests, as many as max_send_wr, all have ended, and none is signaled",
		call->name, cq->base.name, qp->base.name, qp->sends.count);
}

void adv_check_polled_in_vain(struct adv_check_call *call, struct adv_check_cq *cq, bool got)
{
	uint64_t now;

	if (got || cq->unpolled > 0) {
		cq->vain_since = 0;
		return;
	}
	now = adv_clock_ns();
	if (cq->vain_since == 0)
		cq->vain_since = now;
	if (now - cq->vain_since < VAIN_NS)
		return;
	cq->vain_since = now;
	find_wait(call, cq);
}

void adv_check_waits_in_vain(struct adv_check_call *call, int fd)
{
	const struct adv_check_cq *one = NULL;

	if (fcntl(fd, F_GETFL) & O_NONBLOCK)
		return;
	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_CQ), link) {
		const struct adv_check_cq *cq = (struct adv_check_cq *)o;
		const struct ibv_comp_channel *channel = ((struct ibv_cq *)o->object)->channel;

		if (o->destroying || !channel || channel->fd != fd)
			continue;
		if (one || cq->unpolled > 0)
			return;
		one = cq;
	}
	if (one)
		find_wait(call, one);
}

/* ---- completion queues ---- */

static void find_small_cq(struct adv_check_call *call, const struct adv_check_cq *cq)
{
	const struct ibv_cq *ibv = cq->base.object;
	const struct adv_check_finding f = {
		.rule = ADV_RULE_CQ_TOO_SMALL,
		.fault = adv_check_call_stack(call),
		.more = {{"the completion queue was created here", &cq->base.created}},
		.about = &cq->base,
	};

	adv_check_find(&f,
		       "%s: with this request, %u requests whose completions go to %s are posted "
		       "or not polled, but the queue has %d entries",
		       call->name, cq->unpolled, cq->base.name, ibv->cqe);
}

void adv_check_cq_expects(struct adv_check_cq *cq, struct adv_check_work *w)
{
	if (!cq)
		return;
	w->unpolled = &cq->unpolled;
	cq->unpolled++;
}

void adv_check_cq_fits(struct adv_check_call *call, struct adv_check_cq *cq)
{
	if (!cq || cq->overfull ||
	    cq->unpolled <= (uint32_t)((struct ibv_cq *)cq->base.object)->cqe)
		return;
	cq->overfull = true;
	find_small_cq(call, cq);
}

/* ---- receives ---- */

/* Writes who waited after an RNR NAK, and how long, as far as the attributes are known. */
static void describe_wait(const struct adv_check_qp *qp, char text[ADV_CHECK_TEXT])
{
	char address[ADV_GID_TEXT_LENGTH];
	struct adv_gid gid;
	int length = snprintf(text, ADV_CHECK_TEXT, "the peer");

	if (qp->known & IBV_QP_DEST_QPN && qp->known & IBV_QP_AV && qp->attr.ah_attr.is_global) {
		memcpy(gid.raw, qp->attr.ah_attr.grh.dgid.raw, sizeof(gid.raw));
		length = snprintf(text, ADV_CHECK_TEXT, "qp 0x%06x of %s", qp->attr.dest_qp_num,
				  adv_gid_text(&gid, address));
	}
	if (!(qp->known & IBV_QP_MIN_RNR_TIMER))
		snprintf(text + length, (size_t)(ADV_CHECK_TEXT - length), " waited");
	else
		snprintf(text + length, (size_t)(ADV_CHECK_TEXT - length),
			 " waited for %.5g ms (min_rnr_timer %u)",
			 (double)adv_rnr_timer_ns(qp->attr.min_rnr_timer) / 1e6,
			 qp->attr.min_rnr_timer);
}

static void find_empty_queue(struct adv_check_call *call, const struct adv_check_qp *qp,
			     uint32_t naks)
{
	char wait[ADV_CHECK_TEXT];
	const struct adv_check_finding f = {
		.rule = ADV_RULE_RECEIVE_QUEUE_EMPTY,
		.fault = adv_check_call_stack(call),
		.more = {{"the queue pair was created here", &qp->base.created}},
		.about = &qp->base,
	};

	describe_wait(qp, wait);
	adv_check_find(&f,
		       "%s: %s had no receive posted when a message arrived. Before this call it "
		       "sent %u RNR NAK%s: each time, %s",
		       call->name, qp->base.name, naks, naks == 1 ? "" : "s", wait);
}

/* The first message of an accepted connection has found no receive. */
static void find_accepted_empty(struct adv_check_call *call, const struct adv_check_qp *qp)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_ACCEPT_WITHOUT_RECEIVES,
		.fault = &qp->accepted,
		.more = {{"the next call was made here", adv_check_call_stack(call)}},
		.about = &qp->base,
	};

	adv_check_find(&f,
		       "rdma_accept(): %s had no receive posted, and the first message found none",
		       qp->base.name);
}

void adv_check_rnr(struct adv_check_call *call, struct adv_check_qp *qp)
{
	uint32_t naks = adv_check_libibverbs ? adv_check_libibverbs->rnr_naks(qp->qp) : 0;
	bool is_first = qp->rnr_naks == 0 && qp->accepted_empty;

	/* The program posts or polls: from now on it is late or in time. */
	qp->accepted_empty = false;
	if (naks != qp->rnr_naks && is_first)
		find_accepted_empty(call, qp);
	else if (naks != qp->rnr_naks)
		find_empty_queue(call, qp, naks - qp->rnr_naks);
	qp->rnr_reported = naks != qp->rnr_naks;
	qp->rnr_naks = naks;
}

void adv_check_rnr_posted(struct adv_check_qp *qp)
{
	if (qp->rnr_reported && adv_check_libibverbs)
		qp->rnr_naks = adv_check_libibverbs->rnr_naks(qp->qp);
}

static void find_small_recv(struct adv_check_call *call, const struct adv_check_object *owner,
			    const struct adv_check_work *w)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_RECEIVE_TOO_SMALL,
		.fault = &w->posted,
		.more = {{"its completion was polled here", adv_check_call_stack(call)}},
		.about = owner,
	};

	adv_check_find(
		&f,
		"the receive with wr_id %llu of %s has %llu bytes, and a longer message arrived",
		(unsigned long long)w->wr_id, owner->name, (unsigned long long)w->length);
}

void adv_check_recv_status(struct adv_check_call *call, const struct adv_check_object *owner,
			   const struct adv_check_work *w, enum ibv_wc_status status)
{
	if (status == IBV_WC_LOC_LEN_ERR)
		find_small_recv(call, owner, w);
}

/* ---- errors ---- */

static void find_ignored_error(struct adv_check_call *call, const struct adv_check_qp *qp)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_ERROR_IGNORED,
		.fault = adv_check_call_stack(call),
		.more = {{"the queue pair was created here", &qp->base.created}},
		.about = &qp->base,
	};

	adv_check_find(&f,
		       "%s(%s): the queue pair is in the error state, and the program has posted "
		       "%u times since",
		       call->name, qp->base.name, qp->posts_in_error);
}

void adv_check_error_polled(struct adv_check_qp *qp, struct adv_check_cq *cq)
{
	if (qp->failed_cq)
		return;
	qp->failed_cq = cq;
	qp->failed_poll = cq->polls;
}

/* True if the calling thread knows that the queue pair has failed. It may handle the good
 * completions of a poll first, so a failed one counts from the next poll on. */
static bool knows_error(const struct adv_check_qp *qp)
{
	return (qp->failed_cq && qp->failed_cq->polls > qp->failed_poll) ||
	       (qp->failed_by && qp->failed_by == gettid());
}

void adv_check_posts_in_error(struct adv_check_call *call, struct adv_check_qp *qp)
{
	if (!adv_check_libibverbs || adv_check_libibverbs->qp_state(qp->qp) != IBV_QPS_ERR) {
		qp->posts_in_error = 0;
		qp->failed_by = 0;
		qp->failed_cq = NULL;
	} else if (knows_error(qp) && ++qp->posts_in_error == POSTS_IN_ERROR) {
		find_ignored_error(call, qp);
	}
}

void adv_check_note_left(struct adv_check_cq *cq)
{
	if (cq && cq->polls == 0)
		cq->left += adv_check_libibverbs->completions(cq->base.object);
}

void adv_check_never_polled(struct adv_check_call *call, const struct adv_check_cq *cq)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_NEVER_POLLED,
		.fault = call ? adv_check_call_stack(call) : NULL,
		.more = {{"the completion queue was created here", &cq->base.created}},
		.about = &cq->base,
	};

	uint32_t left = cq->left;

	if (cq->polls > 0 || cq->overfull)
		return;
	left += adv_check_libibverbs->completions(cq->base.object);
	if (left > 0)
		adv_check_find(&f, "%s was never polled, and had %u completions", cq->base.name,
			       left);
}
