/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of processes' objects, as in drivers/infiniband/core/nldev.c of the Linux kernel. */
#include "runtime/preload/nldev_resources.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MESSAGE_FULL (ADV_NLDEV_LONGEST - 512) /* room for one more object */

#define RANGES_MOST  16 /* ranges of QP numbers listed for one SRQ */

/* A queue pair with an SRQ. */
struct user {
	uint32_t srq;
	uint32_t qpn;
};

/* Further data for an object's attributes. */
struct context {
	bool keys;	    /* the answer may contain memory keys */
	struct user *users; /* sorted */
	size_t user_count;
	size_t user_room;
	bool failed; /* out of memory */
};

typedef void put_fn(struct adv_netlink *n, const struct adv_object *o, const struct context *c);

/* ---- attributes of one object ---- */

static bool is_connected(const struct adv_object *o)
{
	return o->type != IBV_QPT_UD && o->type != IBV_QPT_RAW_PACKET;
}

static void put_qp(struct adv_netlink *n, const struct adv_object *o, const struct context *c)
{
	if (o->port)
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_PORT_INDEX, o->port);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_LQPN, o->number);
	if (is_connected(o)) {
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_RQPN, o->qp.remote);
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_RQ_PSN, o->qp.rq_psn);
	}
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_SQ_PSN, o->qp.sq_psn);
	if (is_connected(o))
		adv_netlink_u8(n, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, o->path_mig_state);
	adv_netlink_u8(n, RDMA_NLDEV_ATTR_RES_TYPE, o->type);
	adv_netlink_u8(n, RDMA_NLDEV_ATTR_RES_STATE, o->state);
	if (o->pd)
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_PDN, o->pd);
}

static void put_cq(struct adv_netlink *n, const struct adv_object *o, const struct context *c)
{
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_CQE, o->cq.cqe);
	adv_netlink_u64(n, RDMA_NLDEV_ATTR_RES_USECNT, o->users);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_CQN, o->number);
}

static void put_mr(struct adv_netlink *n, const struct adv_object *o, const struct context *c)
{
	if (c->keys) {
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_RKEY, o->mr.rkey);
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_LKEY, o->mr.lkey);
	}
	adv_netlink_u64(n, RDMA_NLDEV_ATTR_RES_MRLEN, o->mr.length);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_MRN, o->number);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_PDN, o->pd);
}

static void put_pd(struct adv_netlink *n, const struct adv_object *o, const struct context *c)
{
	adv_netlink_u64(n, RDMA_NLDEV_ATTR_RES_USECNT, o->users);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_PDN, o->number);
}

/* Writes a range of numbers; if first equals last, a single number. */
static void put_range(struct adv_netlink *n, uint32_t first, uint32_t last)
{
	size_t entry = adv_netlink_nest(n, RDMA_NLDEV_ATTR_RES_QP_ENTRY);

	if (first == last) {
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_LQPN, first);
	} else {
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_MIN_RANGE, first);
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_MAX_RANGE, last);
	}
	adv_netlink_nest_end(n, entry);
}

static void put_users(struct adv_netlink *n, uint32_t srq, const struct context *c)
{
	const struct user *u = c->users;
	size_t i = 0, count = c->user_count;
	unsigned ranges = 0;

	while (i < count && u[i].srq < srq)
		i++;
	while (i < count && u[i].srq == srq && ranges++ < RANGES_MOST) {
		uint32_t first = u[i++].qpn;

		while (i < count && u[i].srq == srq && u[i].qpn == u[i - 1].qpn + 1)
			i++;
		put_range(n, first, u[i - 1].qpn);
	}
}

static void put_srq(struct adv_netlink *n, const struct adv_object *o, const struct context *c)
{
	size_t users;

	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_SRQN, o->number);
	adv_netlink_u8(n, RDMA_NLDEV_ATTR_RES_TYPE, o->type);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_PDN, o->pd);
	if (o->srq.cq)
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_CQN, o->srq.cq);
	users = adv_netlink_nest(n, RDMA_NLDEV_ATTR_RES_QP);
	put_users(n, o->number, c);
	adv_netlink_nest_end(n, users);
}

static void put_ctx(struct adv_netlink *n, const struct adv_object *o, const struct context *c)
{
}

/* Writes an address. The payload of the attribute is a struct __kernel_sockaddr_storage. */
static void put_address(struct adv_netlink *n, uint16_t type, const uint8_t *address)
{
	uint8_t storage[sizeof(struct sockaddr_storage)] = {0};
	sa_family_t family;

	memcpy(&family, address, sizeof(family));
	memcpy(storage, address, ADV_RESOURCE_SOCKADDR);
	if (family == AF_INET || family == AF_INET6)
		adv_netlink_put(n, type, storage, sizeof(storage));
}

static void put_cm_id(struct adv_netlink *n, const struct adv_object *o, const struct context *c)
{
	if (o->port)
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_PORT_INDEX, o->port);
	if (o->cm_id.qpn) {
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_LQPN, o->cm_id.qpn);
		adv_netlink_u8(n, RDMA_NLDEV_ATTR_RES_TYPE, o->type);
	}
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_PS, o->cm_id.port_space);
	adv_netlink_u8(n, RDMA_NLDEV_ATTR_RES_STATE, o->state);
	put_address(n, RDMA_NLDEV_ATTR_RES_SRC_ADDR, o->cm_id.local);
	put_address(n, RDMA_NLDEV_ATTR_RES_DST_ADDR, o->cm_id.remote);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_CM_IDN, o->number);
}

/* ---- kinds of objects ---- */

static const struct kind {
	const char *name;
	put_fn *put;
	uint16_t command; /* command of requests for this kind of objects */
	uint16_t table;	  /* attribute that contains all objects of the kind */
	uint16_t entry;	  /* attribute that contains one object */
	uint16_t id;	  /* attribute that identifies an object */
	bool of_context;  /* the object belongs directly to a context: the answer has its number */
} kinds[ADV_RESOURCE_KINDS] = {
	[ADV_RESOURCE_QP] = {"qp", put_qp, RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP,
			     RDMA_NLDEV_ATTR_RES_QP_ENTRY, RDMA_NLDEV_ATTR_RES_LQPN, false},
	[ADV_RESOURCE_CQ] = {"cq", put_cq, RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ,
			     RDMA_NLDEV_ATTR_RES_CQ_ENTRY, RDMA_NLDEV_ATTR_RES_CQN, true},
	[ADV_RESOURCE_MR] = {"mr", put_mr, RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR,
			     RDMA_NLDEV_ATTR_RES_MR_ENTRY, RDMA_NLDEV_ATTR_RES_MRN, false},
	[ADV_RESOURCE_PD] = {"pd", put_pd, RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD,
			     RDMA_NLDEV_ATTR_RES_PD_ENTRY, RDMA_NLDEV_ATTR_RES_PDN, true},
	[ADV_RESOURCE_SRQ] = {"srq", put_srq, RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ,
			      RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, RDMA_NLDEV_ATTR_RES_SRQN, false},
	[ADV_RESOURCE_CTX] = {"ctx", put_ctx, RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX,
			      RDMA_NLDEV_ATTR_RES_CTX_ENTRY, RDMA_NLDEV_ATTR_RES_CTXN, true},
	[ADV_RESOURCE_CM_ID] = {"cm_id", put_cm_id, RDMA_NLDEV_CMD_RES_CM_ID_GET,
				RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
				RDMA_NLDEV_ATTR_RES_CM_IDN, false},
};

static enum adv_resource_kind kind_asked_for(const struct adv_nldev_request *r)
{
	unsigned op = RDMA_NL_GET_OP(r->head.nlmsg_type), i = 0;

	while (i < ADV_RESOURCE_KINDS && kinds[i].command != op)
		i++;
	return (enum adv_resource_kind)i;
}

static void put_object(struct adv_nldev_request *r, const struct kind *k,
		       const struct adv_object *o, const struct context *c)
{
	struct adv_netlink *n = r->answer;

	k->put(n, o, c);
	if (k->of_context)
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_CTXN, o->context);
	if (o->pid)
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_RES_PID, o->pid);
}

/* ---- the context ---- */

static bool note_user(void *user, const struct adv_object *o)
{
	struct context *c = user;
	struct user *more;

	if (!o->qp.srq)
		return true;
	if (c->user_count == c->user_room) {
		size_t room = c->user_room ? 2 * c->user_room : 64;

		more = realloc(c->users, room * sizeof(*more));
		c->failed = !more;
		if (!more)
			return false;
		c->users = more;
		c->user_room = room;
	}
	c->users[c->user_count++] = (struct user){o->qp.srq, o->number};
	return true;
}

static int compare_users(const void *a, const void *b)
{
	const struct user *one = a, *two = b;

	if (one->srq != two->srq)
		return one->srq < two->srq ? -1 : 1;
	return one->qpn < two->qpn ? -1 : one->qpn > two->qpn;
}

/* Fills *c. 0 or errno. Call context_free() in either case. */
static int context_make(struct context *c, const struct adv_nldev_request *r,
			enum adv_resource_kind kind)
{
	int error;

	*c = (struct context){.keys = r->source->keys};
	if (kind != ADV_RESOURCE_SRQ)
		return 0;
	error = adv_nldev_each(r, ADV_RESOURCE_QP, note_user, c);
	if (c->user_count)
		qsort(c->users, c->user_count, sizeof(*c->users), compare_users);
	return c->failed ? ENOMEM : error;
}

static void context_free(struct context *c)
{
	free(c->users);
}

/* ---- all objects of a kind ---- */

struct listing {
	struct adv_nldev_request *request;
	const struct kind *kind;
	struct context context;
	uint32_t port; /* selected port; 0: any */
	bool open;     /* a message has begun */
	size_t table;  /* table of that message */
};

static void open_message(struct listing *l)
{
	adv_nldev_begin(l->request, true);
	adv_nldev_put_handle(l->request);
	l->table = adv_netlink_nest(l->request->answer, l->kind->table);
	l->open = true;
}

static void close_message(struct listing *l)
{
	if (!l->open)
		return;
	adv_netlink_nest_end(l->request->answer, l->table);
	adv_netlink_end(l->request->answer);
	l->open = false;
}

static bool list_object(void *user, const struct adv_object *o)
{
	struct listing *l = user;
	struct adv_netlink *n = l->request->answer;
	size_t entry;

	if (l->port && l->port != o->port)
		return true;
	if (l->open && adv_netlink_length(n) > MESSAGE_FULL)
		close_message(l);
	if (!l->open)
		open_message(l);
	entry = adv_netlink_nest(n, l->kind->entry);
	put_object(l->request, l->kind, o, &l->context);
	adv_netlink_nest_end(n, entry);
	return !n->failed;
}

int adv_nldev_list_resources(struct adv_nldev_request *r)
{
	enum adv_resource_kind kind = kind_asked_for(r);
	struct listing l = {.request = r, .kind = &kinds[kind]};
	int error;

	if (!adv_nldev_find_device(r))
		return EINVAL;
	if ((kind == ADV_RESOURCE_QP || kind == ADV_RESOURCE_CM_ID) &&
	    adv_nldev_u32(r, RDMA_NLDEV_ATTR_PORT_INDEX, &l.port) && l.port != ADV_NLDEV_PORT)
		return EINVAL;
	error = context_make(&l.context, r, kind);
	if (!error)
		error = adv_nldev_each(r, kind, list_object, &l);
	close_message(&l);
	context_free(&l.context);
	return error;
}

/* ---- one object ---- */

struct search {
	struct adv_nldev_request *request;
	const struct kind *kind;
	struct context context;
	uint32_t number;
	bool found;
};

static bool get_matching(void *user, const struct adv_object *o)
{
	struct search *s = user;

	if (o->number != s->number)
		return true;
	s->found = true;
	adv_nldev_begin(s->request, false);
	adv_nldev_put_handle(s->request);
	put_object(s->request, s->kind, o, &s->context);
	adv_netlink_end(s->request->answer);
	return false;
}

int adv_nldev_get_resource(struct adv_nldev_request *r)
{
	enum adv_resource_kind kind = kind_asked_for(r);
	struct search s = {.request = r, .kind = &kinds[kind]};
	int error;

	if (!adv_nldev_find_device(r) || !adv_nldev_u32(r, s.kind->id, &s.number))
		return EINVAL;
	error = context_make(&s.context, r, kind);
	if (!error)
		error = adv_nldev_each(r, kind, get_matching, &s);
	context_free(&s.context);
	return error || s.found ? error : ENOENT;
}

/* ---- number of objects ---- */

static bool put_sum(void *user, const struct adv_object *o)
{
	struct adv_nldev_request *r = user;
	size_t entry;

	if (o->type >= ADV_RESOURCE_KINDS)
		return true;
	entry = adv_netlink_nest(r->answer, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
	adv_netlink_string(r->answer, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, kinds[o->type].name);
	adv_netlink_u64(r->answer, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, o->users);
	adv_netlink_nest_end(r->answer, entry);
	return true;
}

int adv_nldev_get_summary(struct adv_nldev_request *r)
{
	size_t table;
	int error;

	if (!adv_nldev_find_device(r))
		return EINVAL;
	adv_nldev_begin(r, false);
	adv_nldev_put_handle(r);
	table = adv_netlink_nest(r->answer, RDMA_NLDEV_ATTR_RES_SUMMARY);
	error = adv_nldev_each(r, ADV_RESOURCE_SUMMARY, put_sum, r);
	adv_netlink_nest_end(r->answer, table);
	adv_netlink_end(r->answer);
	return error;
}
