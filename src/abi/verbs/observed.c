/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The operations that report posts and polls to the sanitizer, and what it may ask. */
#include <stdlib.h>
#include <string.h>

#include "abi/check/attach.h"
#include "abi/verbs/cq_part.h"
#include "abi/verbs/query.h"

/* The sanitizer asks these at each post and poll. They read single words without the device's lock:
 * a value that is a moment old does no harm. */

static enum ibv_qp_state qp_state(struct ibv_qp *qp)
{
	return adv_qp_state(adv_ibv_qp_of(qp)->qp);
}

static uint32_t rnr_naks(struct ibv_qp *qp)
{
	return adv_qp_rnr_naks(adv_ibv_qp_of(qp)->qp);
}

static uint32_t count_completions(struct ibv_cq *cq)
{
	struct adv_ibv_cq_part part[ADV_ENGINES_SHARING];
	uint32_t count = 0;

	for (unsigned i = adv_ibv_cq_parts(adv_ibv_cq_of(cq), part); i-- > 0;)
		count += adv_cq_count(part[i].cq);
	return count;
}

static uint32_t recvs_taken(struct ibv_qp *qp)
{
	return adv_qp_recvs_taken(adv_ibv_qp_of(qp)->qp);
}

static uint32_t sends_ended(struct ibv_qp *qp)
{
	return adv_qp_sends_ended(adv_ibv_qp_of(qp)->qp);
}

static bool was_written(struct ibv_context *context)
{
	struct adv_device *device = adv_ibv_context_of(context)->device, *shard;
	const struct adv_engine_counters *c;
	bool written = false;

	if (adv_device_is_foreign(device))
		return false;
	for (unsigned i = 0; (shard = adv_device_shard(device, i)); i++) {
		c = adv_engine_counters(adv_device_lock(shard));
		written |= c->rx_write_requests || c->rx_atomic_requests;
		adv_device_unlock(shard);
	}
	return written;
}

static uint64_t async_queued(struct ibv_context *context, const void *object)
{
	return adv_ibv_event_types(&adv_ibv_context_of(context)->async, object);
}

static struct adv_check_port port_sizes(struct ibv_context *context)
{
	struct adv_gid_table *table = adv_ibv_gids_of(context);
	const struct adv_check_port sizes = {
		.ports = 1,
		.pkeys = table ? table->pkeys.count : 1,
		.gids = table ? table->count : 0,
	};

	free(table);
	return sizes;
}

static bool is_own_gid(struct ibv_context *context, const union ibv_gid *gid)
{
	struct adv_gid_table *table = adv_ibv_gids_of(context);
	bool found = false;

	for (unsigned i = 0; table && i < table->count; i++)
		found |= memcmp(table->entry[i].gid.raw, gid->raw, sizeof(gid->raw)) == 0;
	free(table);
	return found;
}

static const struct adv_check_library library = {
	.qp_state = qp_state,
	.rnr_naks = rnr_naks,
	.completions = count_completions,
	.recvs_taken = recvs_taken,
	.sends_ended = sends_ended,
	.was_written = was_written,
	.async_queued = async_queued,
	.port = port_sizes,
	.is_own_gid = is_own_gid,
};

__attribute__((constructor)) static void find_observer(void)
{
	adv_ibv_observer = adv_check_attach(&library, &adv_ibv_observer);
}

static int observed_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			      struct ibv_send_wr **bad_wr)
{
	int err;

	adv_ibv_observer->send_begins(qp, wr);
	err = adv_ibv_post_send(qp, wr, bad_wr);
	adv_ibv_observer->send_ends(qp, err ? *bad_wr : NULL, err);
	return err;
}

static int observed_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			      struct ibv_recv_wr **bad_wr)
{
	int err;

	adv_ibv_observer->recv_begins(qp, NULL, wr);
	err = adv_ibv_post_recv(qp, wr, bad_wr);
	adv_ibv_observer->recv_ends(qp, NULL, err ? *bad_wr : NULL, err);
	return err;
}

static int observed_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
				  struct ibv_recv_wr **bad_wr)
{
	int err;

	adv_ibv_observer->recv_begins(NULL, srq, wr);
	err = adv_ibv_post_srq_recv(srq, wr, bad_wr);
	adv_ibv_observer->recv_ends(NULL, srq, err ? *bad_wr : NULL, err);
	return err;
}

static int observed_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int err = adv_ibv_bind_mw(qp, mw, bind);

	if (!err)
		adv_ibv_observer->bound(qp, mw, bind);
	return err;
}

static int observed_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got = adv_ibv_poll_cq(cq, n, wc);

	adv_ibv_observer->polled(cq, wc, got);
	return got;
}

static int observed_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int err = adv_ibv_req_notify_cq(cq, solicited_only);

	if (!err)
		adv_ibv_observer->armed(cq, solicited_only != 0);
	return err;
}

void adv_ibv_watch_context(struct ibv_context *context)
{
	struct ibv_context_ops *ops = &context->ops;

	if (!adv_ibv_observer)
		return;
	ops->post_send = observed_post_send;
	ops->post_recv = observed_post_recv;
	ops->post_srq_recv = observed_post_srq_recv;
	ops->bind_mw = observed_bind_mw;
	ops->poll_cq = observed_poll_cq;
	ops->req_notify_cq = observed_req_notify_cq;
	adv_ibv_observer->created(ADV_CHECK_CONTEXT, context, context, NULL);
}
