/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/check/object.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define PAGE 4096 /* the smallest page of the supported machines */

/* Under the lock. All are initialized at the first use. */
static struct adv_table by_pointer, by_lkey, by_number;
static struct adv_list all[ADV_CHECK_KINDS];

/* The records that were found last, or NULL: most programs use few objects many times. */
static struct {
	struct adv_check_object *object[ADV_CHECK_KINDS];
	struct adv_check_mr *mr;
	struct adv_check_qp *qp;
} found;

static const size_t sizes[ADV_CHECK_KINDS] = {
	[ADV_CHECK_MR] = sizeof(struct adv_check_mr),
	[ADV_CHECK_CQ] = sizeof(struct adv_check_cq),
	[ADV_CHECK_SRQ] = sizeof(struct adv_check_srq),
	[ADV_CHECK_QP] = sizeof(struct adv_check_qp),
	[ADV_CHECK_ID] = sizeof(struct adv_check_id),
	[ADV_CHECK_AH] = sizeof(struct adv_check_ah),
};

static unsigned forks;

unsigned adv_check_forks(void)
{
	return forks;
}

void adv_check_forked(void)
{
	forks++;
}

static bool prepare_tables(void)
{
	if (by_number.bucket)
		return true;
	for (unsigned i = 0; i < ADV_CHECK_KINDS; i++)
		adv_list_init(&all[i]);
	return !adv_table_init(&by_pointer) && !adv_table_init(&by_lkey) &&
	       !adv_table_init(&by_number);
}

/* Tables use the low bits, which are equal in many pointers, and remain so in a product. */
static uint64_t hash_of(uint64_t key)
{
	const uint64_t product = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;

	return product ^ product >> 32;
}

const struct adv_check_library *adv_check_libibverbs;

/* ---- the members of each kind ---- */

static uint64_t locked; /* under the lock */

uint64_t adv_check_locked(void)
{
	return locked;
}

static uint64_t locked_by(const struct adv_check_mr *mr)
{
	uint64_t first = mr->addr / PAGE, last = (mr->addr + mr->length - 1) / PAGE;

	return mr->access & IBV_ACCESS_ON_DEMAND || !mr->length ? 0 : (last - first + 1) * PAGE;
}

static void fill_mr(struct adv_check_mr *mr, const struct ibv_mr *ibv,
		    const struct adv_check_mr_attr *attr)
{
	mr->lkey = ibv->lkey;
	mr->rkey = ibv->rkey;
	mr->iova = attr->iova;
	mr->addr = (uintptr_t)ibv->addr;
	mr->length = ibv->length;
	mr->access = attr->access;
	mr->pd = ibv->pd;
	locked -= mr->locked;
	mr->locked = locked_by(mr);
	locked += mr->locked;
	adv_table_add(&by_lkey, &mr->by_lkey, hash_of(mr->lkey));
	snprintf(mr->base.name, ADV_CHECK_NAME, "mr 0x%08x", mr->lkey);
}

static void fill_qp(struct adv_check_qp *qp, struct ibv_qp *ibv,
		    const struct adv_check_qp_attr *attr)
{
	qp->qp = ibv;
	qp->requested = attr->requested->cap;
	qp->granted = attr->granted;
	qp->sq_sig_all = attr->requested->sq_sig_all != 0;
	qp->send_cq = ibv->send_cq ? adv_check_cq_of(ibv->send_cq) : NULL;
	qp->recv_cq = ibv->recv_cq ? adv_check_cq_of(ibv->recv_cq) : NULL;
	qp->state = IBV_QPS_RESET;
	qp->reset_at = qp->base.created_at;
	adv_check_queue_init(&qp->sends, false, false);
	adv_check_queue_init(&qp->recvs, true, false);
	adv_table_add(&by_number, &qp->by_number, hash_of(ibv->qp_num));
	snprintf(qp->base.name, ADV_CHECK_NAME, "qp 0x%06x", ibv->qp_num);
}

static void name_object(struct adv_check_object *o)
{
	switch (o->kind) {
	case ADV_CHECK_PD:
		snprintf(o->name, ADV_CHECK_NAME, "pd %u", ((struct ibv_pd *)o->object)->handle);
		break;
	case ADV_CHECK_MW:
		snprintf(o->name, ADV_CHECK_NAME, "mw 0x%08x", ((struct ibv_mw *)o->object)->rkey);
		break;
	case ADV_CHECK_CHANNEL:
		snprintf(o->name, ADV_CHECK_NAME, "channel fd %d",
			 ((struct ibv_comp_channel *)o->object)->fd);
		break;
	case ADV_CHECK_CQ:
		snprintf(o->name, ADV_CHECK_NAME, "cq %u", ((struct ibv_cq *)o->object)->handle);
		break;
	case ADV_CHECK_SRQ:
		snprintf(o->name, ADV_CHECK_NAME, "srq %u", ((struct ibv_srq *)o->object)->handle);
		break;
	case ADV_CHECK_CONTEXT:
		snprintf(o->name, ADV_CHECK_NAME, "context of %.8s", o->context->device->name);
		break;
	case ADV_CHECK_ID:
		snprintf(o->name, ADV_CHECK_NAME, "id %p", o->object);
		break;
	case ADV_CHECK_AH:
		snprintf(o->name, ADV_CHECK_NAME, "ah %u", ((struct ibv_ah *)o->object)->handle);
		break;
	case ADV_CHECK_XRCD:
		snprintf(o->name, ADV_CHECK_NAME, "xrcd %p", o->object);
		break;
	default:
		snprintf(o->name, ADV_CHECK_NAME, "object %p", o->object);
	}
}

static void fill_object(struct adv_check_object *o, const void *attr)
{
	name_object(o);
	switch (o->kind) {
	case ADV_CHECK_MR:
		fill_mr((struct adv_check_mr *)o, o->object, attr);
		break;
	case ADV_CHECK_SRQ:
		adv_check_queue_init(&((struct adv_check_srq *)o)->recvs, true, true);
		break;
	case ADV_CHECK_QP:
		fill_qp((struct adv_check_qp *)o, o->object, attr);
		break;
	default:
		break;
	}
}

/* ---- records ---- */

struct adv_check_object *adv_check_object_add(enum adv_check_kind kind, void *object,
					      struct ibv_context *context, const void *attr,
					      const struct adv_check_stack *created)
{
	size_t size = sizes[kind] ? sizes[kind] : sizeof(struct adv_check_object);
	struct adv_check_object *o;

	if (!prepare_tables())
		return NULL;
	o = calloc(1, size);
	if (!o)
		return NULL;
	o->kind = kind;
	o->object = object;
	o->context = context;
	o->created_at = adv_clock_ns();
	o->created = *created;
	o->forks = forks;
	adv_table_add(&by_pointer, &o->node, hash_of((uintptr_t)object));
	adv_list_add_tail(&all[kind], &o->link);
	fill_object(o, attr);
	return o;
}

void adv_check_object_remove(struct adv_check_object *o)
{
	if (o->kind == ADV_CHECK_MR) {
		adv_table_remove(&by_lkey, &((struct adv_check_mr *)o)->by_lkey);
		locked -= ((struct adv_check_mr *)o)->locked;
	}
	if (o->kind == ADV_CHECK_SRQ)
		adv_check_queue_clear(&((struct adv_check_srq *)o)->recvs);
	if (o->kind == ADV_CHECK_QP) {
		struct adv_check_qp *qp = (struct adv_check_qp *)o;

		adv_table_remove(&by_number, &qp->by_number);
		adv_check_queue_clear(&qp->sends);
		adv_check_queue_clear(&qp->recvs);
	}
	adv_table_remove(&by_pointer, &o->node);
	adv_list_del(&o->link);
	found.object[o->kind] = NULL;
	found.mr = NULL;
	found.qp = NULL;
	free(o);
}

void adv_check_objects_forget(const struct ibv_context *context)
{
	adv_list_for_each_safe(struct adv_check_object, o, &all[ADV_CHECK_MR], link)
		if (o->context == context)
			adv_check_object_remove(o);
}

struct adv_list *adv_check_objects(enum adv_check_kind kind)
{
	static struct adv_list none = {&none, &none};

	return prepare_tables() ? &all[kind] : &none;
}

static struct adv_check_object *look_up(enum adv_check_kind kind, const void *object)
{
	uint64_t hash = hash_of((uintptr_t)object);

	if (!prepare_tables())
		return NULL;
	for (struct adv_table_node *n = adv_table_next(&by_pointer, hash, NULL); n;
	     n = adv_table_next(&by_pointer, hash, n)) {
		struct adv_check_object *o = adv_container_of(n, struct adv_check_object, node);

		if (o->object == object && o->kind == kind && !o->destroying)
			return o;
	}
	return NULL;
}

struct adv_check_object *adv_check_object_find(enum adv_check_kind kind, const void *object)
{
	struct adv_check_object *o = found.object[kind];

	if (!o || o->object != object || o->destroying)
		found.object[kind] = o = look_up(kind, object);
	return o;
}

struct adv_check_qp *adv_check_qp_of(const struct ibv_qp *qp)
{
	return (struct adv_check_qp *)adv_check_object_find(ADV_CHECK_QP, qp);
}

struct adv_check_cq *adv_check_cq_of(const struct ibv_cq *cq)
{
	return (struct adv_check_cq *)adv_check_object_find(ADV_CHECK_CQ, cq);
}

struct adv_check_srq *adv_check_srq_of(const struct ibv_srq *srq)
{
	return (struct adv_check_srq *)adv_check_object_find(ADV_CHECK_SRQ, srq);
}

struct adv_check_qp *adv_check_qp_numbered(uint32_t number)
{
	const uint64_t hash = hash_of(number);
	struct adv_table_node *n;

	if (found.qp && found.qp->by_number.hash == hash)
		return found.qp;
	n = prepare_tables() ? adv_table_next(&by_number, hash, NULL) : NULL;
	found.qp = n ? adv_container_of(n, struct adv_check_qp, by_number) : NULL;
	return found.qp;
}

struct adv_check_mr *adv_check_mr_of_lkey(uint32_t lkey)
{
	struct adv_table_node *n;

	if (found.mr && found.mr->lkey == lkey)
		return found.mr;
	n = prepare_tables() ? adv_table_next(&by_lkey, hash_of(lkey), NULL) : NULL;
	found.mr = n ? adv_container_of(n, struct adv_check_mr, by_lkey) : NULL;
	return found.mr;
}

void adv_check_mr_change(struct adv_check_mr *mr, int flags, int access)
{
	const struct ibv_mr *ibv = mr->base.object;
	const struct adv_check_mr_attr attr = {
		.iova = !(flags & IBV_REREG_MR_CHANGE_TRANSLATION) ? mr->iova
			: access & IBV_ACCESS_ZERO_BASED	   ? 0
								   : (uintptr_t)ibv->addr,
		.access = access,
	};

	adv_table_remove(&by_lkey, &mr->by_lkey);
	fill_mr(mr, ibv, &attr);
	adv_check_object_note(&mr->base, "reregistered");
}

bool adv_check_qp_is_live(const struct adv_check_qp *qp)
{
	enum ibv_qp_state state = qp->state;

	if (adv_check_libibverbs)
		state = adv_check_libibverbs->qp_state(qp->qp);
	return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD;
}

/* ---- history ---- */

void adv_check_object_note(struct adv_check_object *o, const char *fmt, ...)
{
	unsigned at = o->notes++ % ADV_CHECK_NOTES;
	va_list args;

	va_start(args, fmt);
	vsnprintf(o->note[at].text, sizeof(o->note[at].text), fmt, args);
	va_end(args);
	o->note[at].at = adv_clock_ns();
}

static int write_event(char *text, int length, const char *what, uint64_t at, uint64_t now)
{
	int room = ADV_CHECK_TEXT - length;
	int n = snprintf(text + length, (size_t)room, "%s%s %.3f ms ago", length ? "; " : "", what,
			 (double)(now - at) / 1e6);

	return n < room ? length + n : ADV_CHECK_TEXT - 1;
}

const char *adv_check_object_history(const struct adv_check_object *o, char text[ADV_CHECK_TEXT])
{
	unsigned first = o->notes > ADV_CHECK_NOTES ? o->notes - ADV_CHECK_NOTES : 0;
	uint64_t now = adv_clock_ns();
	int length = snprintf(text, ADV_CHECK_TEXT, "%s: ", o->name);
	int start = length;

	length = start + write_event(text + start, 0, "created", o->created_at, now);
	for (unsigned i = first; i < o->notes && length < ADV_CHECK_TEXT - 100; i++)
		length = write_event(text, length, o->note[i % ADV_CHECK_NOTES].text,
				     o->note[i % ADV_CHECK_NOTES].at, now);
	return text;
}
