/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/payload.h"

#include "abi/check/memory.h"

#define MOST_BYTES 65536 /* of a request that are hashed */
#define WINDOW	   4096
#define MOST_RECVS 256 /* longer receive queues are not searched for overlaps */
#define MOST_QPS   4   /* queue pairs whose receive buffers a call checks */

/* Returns the address in memory of an SGE: regions may have addresses of their own in requests. */
static uintptr_t memory_of(const struct ibv_sge *sge)
{
	const struct adv_check_mr *mr = adv_check_mr_of_lkey(sge->lkey);

	return mr ? mr->addr + (sge->addr - mr->iova) : 0;
}

/* Hashes what an SGE names, at most `most` bytes of it. False: it is not mapped. */
static bool hash_sge(const struct ibv_sge *sge, size_t most, uint64_t *hash)
{
	uintptr_t addr = memory_of(sge);
	size_t windows = most / WINDOW;

	if (!addr || !sge->length)
		return true;
	if (sge->length <= most)
		return adv_check_memory_hash(addr, sge->length, hash);
	for (size_t i = 0; i < windows; i++) {
		size_t offset = (sge->length - WINDOW) * i / (windows > 1 ? windows - 1 : 1);

		if (!adv_check_memory_hash(addr + offset, WINDOW, hash))
			return false;
	}
	return true;
}

static bool hash_request(const struct adv_check_work *w, uint64_t *hash)
{
	size_t most = w->num_sge > 0 ? MOST_BYTES / (size_t)w->num_sge : 0;
	bool is_mapped = true;

	*hash = 1;
	for (int i = 0; i < w->num_sge && is_mapped; i++)
		is_mapped = hash_sge(&w->sge[i], most < WINDOW ? WINDOW : most, hash);
	return is_mapped;
}

/* True if the NIC reads the request's buffers. */
static bool sends_payload(const struct adv_check_work *w)
{
	switch (w->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return !w->is_recv && !w->is_inline && w->length > 0;
	default:
		return false;
	}
}

/* ---- receive buffers ---- */

static bool sges_overlap(const struct ibv_sge *a, const struct ibv_sge *b)
{
	return a->addr < b->addr + b->length && b->addr < a->addr + a->length;
}

/* True if only this request and the program may change the buffer: no other posted receive has it.
 */
static bool is_alone(const struct adv_check_queue *queue, const struct adv_check_work *w)
{
	adv_list_for_each(struct adv_check_work, other, &queue->works, link) {
		for (int i = 0; other != w && i < other->num_sge; i++) {
			if (!sges_overlap(&w->sge[0], &other->sge[i]))
				continue;
			other->has_mark = false;
			return false;
		}
	}
	return true;
}

/* Hashes the beginning of a receive buffer. */
static bool hash_beginning(const struct adv_check_work *w, uint64_t *hash)
{
	size_t length = w->sge[0].length < WINDOW ? w->sge[0].length : WINDOW;
	uintptr_t addr = memory_of(&w->sge[0]);

	*hash = 1;
	return addr && adv_check_memory_hash(addr, length, hash);
}

static void find_changed(struct adv_check_call *call, const struct adv_check_qp *qp,
			 const struct adv_check_work *w)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_RECEIVE_BUFFER_CHANGED,
		.fault = &w->posted,
		.more = {{"the change was noticed in this call", adv_check_call_stack(call)}},
		.about = &qp->base,
	};

	adv_check_find(&f,
		       "the buffer of the receive request with wr_id %llu of %s was changed after "
		       "its posting, shown first, although no message has arrived for it",
		       (unsigned long long)w->wr_id, qp->base.name);
}

/* Compares the oldest receive buffer for which no message has arrived with its contents at posting.
 * Whether a message has arrived is asked after the memory was read. */
static void check_oldest(struct adv_check_call *call, const struct adv_check_qp *qp)
{
	uint32_t taken = adv_check_libibverbs->recvs_taken(qp->qp);
	uint64_t now;

	adv_list_for_each(struct adv_check_work, w, &qp->recvs.works, link) {
		if ((int32_t)(w->number - taken) < 0)
			continue;
		if (!w->has_mark || !hash_beginning(w, &now) || now == w->mark ||
		    adv_check_libibverbs->recvs_taken(qp->qp) != taken ||
		    adv_check_libibverbs->was_written(qp->base.context))
			return;
		w->has_mark = false;
		find_changed(call, qp, w);
		return;
	}
}

void adv_check_receive_buffers(struct adv_check_call *call)
{
	unsigned checked = 0;

	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_QP), link) {
		const struct adv_check_qp *qp = (struct adv_check_qp *)o;

		if (++checked > MOST_QPS)
			break;
		if (qp->recvs.count > 0 && qp->recvs.count <= MOST_RECVS &&
		    o->forks == adv_check_forks() && !o->destroying)
			check_oldest(call, qp);
	}
}

static void find_reused(struct adv_check_call *call, const struct adv_check_object *owner,
			const struct adv_check_work *w, const struct adv_check_work *recv)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_RECEIVE_BUFFER_REUSED,
		.fault = adv_check_call_stack(call),
		.more = {{"the receive was posted here", &recv->posted}},
		.about = owner,
	};

	adv_check_find(&f,
		       "%s(%s): wr_id %llu uses the buffer of the receive with wr_id %llu, which "
		       "is still posted",
		       call->name, owner->name, (unsigned long long)w->wr_id,
		       (unsigned long long)recv->wr_id);
}

bool adv_check_buffer_reused(struct adv_check_call *call, const struct adv_check_queue *recvs,
			     const struct adv_check_work *w)
{
	if (w->is_inline || recvs->count > MOST_RECVS)
		return false;
	adv_list_for_each(const struct adv_check_work, recv, &recvs->works, link) {
		for (int i = 0; recv != w && i < w->num_sge * recv->num_sge; i++) {
			if (!sges_overlap(&w->sge[i / recv->num_sge],
					  &recv->sge[i % recv->num_sge]))
				continue;
			find_reused(call, w->owner, w, recv);
			return true;
		}
	}
	return false;
}

/* ---- posting and completion ---- */

void adv_check_payload_posted(const struct adv_check_queue *queue, struct adv_check_work *w)
{
	if (w->is_recv)
		w->has_mark = w->num_sge == 1 && w->length > 0 && queue->count <= MOST_RECVS &&
			      is_alone(queue, w) && hash_beginning(w, &w->mark);
	else if (sends_payload(w))
		w->has_mark = hash_request(w, &w->mark);
}

static bool is_unmapped(const struct adv_check_work *w)
{
	for (int i = 0; i < w->num_sge; i++) {
		uintptr_t addr = memory_of(&w->sge[i]);

		if (addr && adv_check_memory_is_unmapped(addr, w->sge[i].length))
			return true;
	}
	return false;
}

static void find_unmapped(struct adv_check_call *call, const struct adv_check_qp *qp,
			  const struct adv_check_work *w)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_UNMAPPED_WHILE_REGISTERED,
		.fault = adv_check_call_stack(call),
		.more = {{"the request was posted here", &w->posted}},
		.about = &qp->base,
	};

	adv_check_find(
		&f, "%s: the buffer of the send request with wr_id %llu of %s is no longer mapped",
		call->name, (unsigned long long)w->wr_id, qp->base.name);
}

static void find_changed_send(const struct adv_check_qp *qp, const struct adv_check_work *w,
			      const char *title, const struct adv_check_stack *noticed)
{
	const struct adv_check_finding f = {
		.rule = ADV_RULE_SEND_BUFFER_CHANGED,
		.fault = &w->posted,
		.more = {{title, noticed}},
		.about = &qp->base,
	};

	adv_check_find(&f,
		       "the buffer of the send request with wr_id %llu of %s (%llu bytes) was "
		       "changed between its posting, shown first, and its completion",
		       (unsigned long long)w->wr_id, qp->base.name, (unsigned long long)w->length);
}

static void compare_send(struct adv_check_call *call, const struct adv_check_qp *qp,
			 const struct adv_check_work *w, const char *title)
{
	uint64_t now;

	if (!w->has_mark || w->freed)
		return;
	if (hash_request(w, &now)) {
		if (now != w->mark)
			find_changed_send(qp, w, title, adv_check_call_stack(call));
	} else if (is_unmapped(w)) {
		find_unmapped(call, qp, w);
	}
}

void adv_check_payload_sent(struct adv_check_call *call, const struct adv_check_qp *qp,
			    const struct adv_check_work *w)
{
	compare_send(call, qp, w, "its completion was polled here");
}

/* Compares the requests that the device has finished, each once. */
static void compare_finished(struct adv_check_call *call, struct adv_check_qp *qp)
{
	uint32_t ended = adv_check_libibverbs->sends_ended(qp->qp);

	if (ended == qp->sends_compared)
		return;
	adv_list_for_each(struct adv_check_work, w, &qp->sends.works, link) {
		if ((int32_t)(w->number - ended) >= 0)
			break;
		compare_send(call, qp, w, "the change was noticed in this call");
		w->has_mark = false;
	}
	qp->sends_compared = ended;
}

void adv_check_payloads_answered(struct adv_check_call *call)
{
	adv_list_for_each(struct adv_check_object, o, adv_check_objects(ADV_CHECK_QP), link) {
		struct adv_check_qp *qp = (struct adv_check_qp *)o;
		enum ibv_qp_type type = qp->qp->qp_type;

		if ((type == IBV_QPT_UD || type == IBV_QPT_UC) && qp->sends.count > 0 &&
		    o->forks == adv_check_forks() && !o->destroying)
			compare_finished(call, qp);
	}
}
