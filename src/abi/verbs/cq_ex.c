/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Extended completion queues. When the application steps to a completion, the completion is copied
 * out of the queue. The getters of its fields then need no lock, and other threads may poll
 * meanwhile.
 */
#include <time.h>

#include "base/ticks.h"
#include "abi/verbs/cq_part.h"

#define SUPPORTED_WC_FLAGS                                                                         \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |                             \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct adv_ibv_cq *cq_of(struct ibv_cq_ex *cq)
{
	return (struct adv_ibv_cq *)cq;
}

/* Dequeues the next completion of a part into `current`. progress: receives first if the part is
 * empty, and sets *crowded. 0; ENOENT if the part is empty; EINVAL if it overran. */
static int take_completion(struct adv_ibv_cq *cq, const struct adv_ibv_cq_part *part, bool progress,
			   bool *crowded)
{
	const struct adv_cqe *cqe;
	int ret = 0;

	adv_device_lock(part->device);
	cqe = adv_cq_peek(part->cq);
	if (!cqe && progress) {
		*crowded = adv_device_poll(part->device, part->cq, 1);
		cqe = adv_cq_peek(part->cq);
	} else {
		adv_device_polled(part->device);
	}
	if (cqe) {
		cq->current = *cqe;
		adv_cq_pop(part->cq);
	} else {
		/* If the CQ is empty, adv_cq_poll() reports an overrun. */
		ret = adv_cq_poll(part->cq, 1, &cq->current.wc) < 0 ? EINVAL : ENOENT;
	}
	adv_device_unlock(part->device);
	return ret;
}

/* As take_completion(), for a CQ of several parts. */
static int take_from_parts(struct adv_ibv_cq *cq, bool progress)
{
	struct adv_ibv_cq_part part[ADV_ENGINES_SHARING];
	unsigned parts = adv_ibv_cq_parts(cq, part), turn = adv_ibv_cq_turn(cq);
	int all = ENOENT;
	bool crowded;

	for (unsigned i = 0; i < parts; i++) {
		int ret = take_completion(cq, &part[(turn + i) % parts], progress, &crowded);

		if (ret == 0)
			return 0;
		if (ret == EINVAL)
			all = EINVAL;
	}
	return all;
}

/* Dequeues the next completion into `current`. 0; ENOENT if the CQ is empty; EINVAL if the CQ
 * overran. */
static int copy_next_completion(struct adv_ibv_cq *cq, bool progress)
{
	bool crowded = false;
	int ret;

	if (adv_device_is_foreign(cq->first.device)) {
		adv_ibv_refuse_foreign();
		return adv_ibv_refuse(ADV_EFOREIGN, "ibv_start_poll(cq %u)", cq->ibv.handle);
	}
	ret = atomic_load(&cq->more) ? take_from_parts(cq, progress)
				     : take_completion(cq, &cq->first, progress, &crowded);
	if (ret == EINVAL)
		ret = adv_ibv_refuse(EINVAL, "ibv_start_poll(cq %u)", cq->ibv.handle);
	if (ret == ENOENT && crowded)
		adv_device_back_off(cq->first.device, cq->first.cq);
	if (ret == 0) {
		cq->ibv.wr_id = cq->current.wc.wr_id;
		cq->ibv.status = cq->current.wc.status;
	}
	return ret;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct adv_ibv_cq *cq = cq_of(ibcq);
	unsigned tries = 0;
	uint64_t began;
	int ret;

	if (attr && attr->comp_mask)
		return adv_ibv_refuse(
			adv_reason(EINVAL, "comp_mask 0x%x: no bit is defined", attr->comp_mask),
			"ibv_start_poll(cq %u)", ibcq->handle);
	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->poll_lock);
	do { /* repeats for the reason in poll_again() in runtime/device/poll.c */
		began = adv_ticks();
		ret = copy_next_completion(cq, true);
	} while (ret == ENOENT && adv_held_up(began) && ++tries < ADV_POLL_TRIES);
	if (ret && !cq->single_threaded)
		pthread_mutex_unlock(&cq->poll_lock);
	return ret;
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
	return copy_next_completion(cq_of(ibcq), false);
}

/* Reports the completion to which the application has stepped. */
static int report_current(struct ibv_cq_ex *cq, int ret)
{
	if (ret == 0 || ret == ENOENT)
		adv_ibv_observer->polled(ibv_cq_ex_to_cq(cq), &cq_of(cq)->current.wc, ret == 0);
	return ret;
}

static int observed_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	return report_current(cq, start_poll(cq, attr));
}

static int observed_next_poll(struct ibv_cq_ex *cq)
{
	return report_current(cq, next_poll(cq));
}

static void end_poll(struct ibv_cq_ex *ibcq)
{
	struct adv_ibv_cq *cq = cq_of(ibcq);

	if (!cq->single_threaded)
		pthread_mutex_unlock(&cq->poll_lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.wc.dlid_path_bits;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
	return cq_of(cq)->current.timestamp;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *cq)
{
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	return (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec -
	       (adv_device_time(cq_of(cq)->first.device) - cq_of(cq)->current.timestamp);
}

/* Fills in the table of calls. Getters of unsupported wc_flags stay NULL: a CQ with such flags
 * cannot be created. */
static void fill_cq_calls(struct ibv_cq_ex *cq)
{
	cq->start_poll = adv_ibv_observer ? observed_start_poll : start_poll;
	cq->next_poll = adv_ibv_observer ? observed_next_poll : next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	cq->read_slid = read_slid;
	cq->read_sl = read_sl;
	cq->read_dlid_path_bits = read_dlid_path_bits;
	cq->read_completion_ts = read_completion_ts;
	cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

struct ibv_cq_ex *adv_ibv_create_cq_ex(struct ibv_context *context,
				       struct ibv_cq_init_attr_ex *attr)
{
	const uint32_t known = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	struct ibv_pd *parent =
		attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ? attr->parent_domain : NULL;
	struct adv_ibv_cq *cq;

	/* IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN is among the unsupported flags. */
	if (attr->wc_flags & ~(uint64_t)SUPPORTED_WC_FLAGS || attr->comp_mask & ~known ||
	    flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return adv_ibv_refuse_object(adv_reason(EOPNOTSUPP,
							"wc_flags 0x%llx, comp_mask 0x%x, flags "
							"0x%x: possible are 0x%llx, 0x%x, 0x%x",
							(unsigned long long)attr->wc_flags,
							attr->comp_mask, flags,
							(unsigned long long)SUPPORTED_WC_FLAGS,
							known, IBV_CREATE_CQ_ATTR_SINGLE_THREADED),
					     "ibv_create_cq_ex()");
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!parent || parent->context != context || !adv_ibv_pd_of(parent)->of))
		return adv_ibv_refuse_object(
			adv_reason(EINVAL, "parent_domain is not a parent domain of this context"),
			"ibv_create_cq_ex()");
	cq = adv_ibv_cq_new(context, attr);
	if (!cq)
		return NULL;
	cq->single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	if (parent)
		adv_ibv_pd_hold(parent);
	cq->parent_domain = parent;
	fill_cq_calls(&cq->ibv);
	return &cq->ibv;
}
