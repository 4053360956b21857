/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints objects as JSON. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/observe/errors.h"
#include "cli/command/json.h"
#include "cli/observe/res.h"
#include "nic/engine/cause.h"
#include "nic/engine/names.h"

static void add_error(struct json_object *to, const struct adv_object_qp *q)
{
	struct json_object *o;

	if (!q->error_kind)
		return;
	o = adv_json_add_object(to, "error");
	if (q->error_kind == ADV_QP_ERROR_EVENT)
		adv_json_add_text(o, "event", adv_event_text(q->error_status)->name);
	else
		adv_json_add_text(o, "status",
				  adv_wc_status_name((enum ibv_wc_status)q->error_status));
	if (q->error_kind != ADV_QP_ERROR_EVENT)
		adv_json_add_number(o, "wr-id", q->error_wr_id);
	adv_json_add_number(o, "cause", q->error_cause);
}

static void add_qp_details(struct json_object *o, const struct adv_object *r)
{
	const struct adv_object_qp *q = &r->qp;

	adv_json_add_number(o, "send-cqn", q->send_cq);
	adv_json_add_number(o, "recv-cqn", q->recv_cq);
	adv_json_add_number(o, "srqn", q->srq);
	adv_json_add_number(o, "send-room", q->send_room);
	adv_json_add_number(o, "send-outstanding", q->send_posted - q->send_done);
	adv_json_add_number(o, "recv-room", q->recv_room);
	adv_json_add_number(o, "recv-unused", q->recv_posted - q->recv_done);
	adv_json_add_number(o, "una-psn", q->una_psn);
	adv_json_add_number(o, "window", q->window);
	adv_json_add_number(o, "in-flight", q->in_flight);
	adv_json_add_number(o, "timeout", q->timeout);
	adv_json_add_number(o, "retry-left", q->retry_left);
	adv_json_add_number(o, "retry-cnt", q->retry_cnt);
	adv_json_add_number(o, "rnr-left", q->rnr_left);
	adv_json_add_number(o, "rnr-retry", q->rnr_retry);
	adv_json_add_number(o, "msn", q->msn);
	add_error(o, q);
}

static void add_gid(struct json_object *to, const char *key, const uint8_t raw[16])
{
	char text[ADV_GID_TEXT];
	struct adv_gid gid;

	memcpy(gid.raw, raw, sizeof(gid.raw));
	adv_format_gid(text, &gid);
	adv_json_add_text(to, key, text);
}

static void add_qp(struct json_object *o, const struct adv_object *r, bool details)
{
	const struct adv_object_qp *q = &r->qp;

	adv_json_add_number(o, "port", r->port);
	adv_json_add_number(o, "lqpn", r->number);
	if (adv_object_has_peer(r)) {
		if (!(q->flags & ADV_QP_IWARP)) {
			adv_json_add_number(o, "rqpn", q->remote);
			adv_json_add_number(o, "rq-psn", q->rq_psn);
		}
		add_gid(o, "sgid", q->sgid);
		add_gid(o, "dgid", q->dgid);
	}
	adv_json_add_text(o, "type", adv_qp_type_name((enum ibv_qp_type)r->type));
	adv_json_add_text(o, "state", adv_qp_state_name((enum ibv_qp_state)r->state));
	adv_json_add_number(o, "sq-psn", q->sq_psn);
	adv_json_add_number(o, "path-mtu", q->mtu);
	adv_json_add_number(o, "pdn", r->pd);
	if (details)
		add_qp_details(o, r);
}

static void add_cq(struct json_object *o, const struct adv_object *r, bool details)
{
	adv_json_add_number(o, "cqn", r->number);
	adv_json_add_number(o, "cqe", r->cq.cqe);
	adv_json_add_number(o, "users", r->users);
	adv_json_add_number(o, "waiting", r->cq.waiting);
	if (details)
		adv_json_add_flag(o, "overrun", r->cq.overrun != 0);
}

static void add_mr(struct json_object *o, const struct adv_object *r, bool details)
{
	adv_json_add_number(o, "mrn", r->number);
	adv_json_add_number(o, "mrlen", r->mr.length);
	adv_json_add_number(o, "iova", r->mr.iova);
	adv_json_add_number(o, "pdn", r->pd);
	if (!details)
		return;
	adv_json_add_number(o, "lkey", r->mr.lkey);
	adv_json_add_number(o, "rkey", r->mr.rkey);
	adv_json_add_number(o, "access", r->mr.access);
}

static void add_pd(struct json_object *o, const struct adv_object *r, bool details)
{
	adv_json_add_number(o, "pdn", r->number);
	adv_json_add_number(o, "users", r->users);
}

static void add_srq(struct json_object *o, const struct adv_object *r, bool details)
{
	adv_json_add_number(o, "srqn", r->number);
	adv_json_add_text(o, "type", r->type == IBV_SRQT_XRC ? "XRC" : "BASIC");
	adv_json_add_number(o, "pdn", r->pd);
	adv_json_add_number(o, "room", r->srq.room);
	adv_json_add_number(o, "posted", r->srq.posted);
	if (details)
		adv_json_add_number(o, "cqn", r->srq.cq);
}

static void add_ctx(struct json_object *o, const struct adv_object *r, bool details)
{
	if (details)
		adv_json_add_number(o, "slot", r->slot);
}

static void add_cm_id(struct json_object *o, const struct adv_object *r, bool details)
{
	char address[ADV_SOCKADDR_TEXT];

	adv_json_add_number(o, "cm-idn", r->number);
	if (r->cm_id.qpn)
		adv_json_add_number(o, "lqpn", r->cm_id.qpn);
	adv_json_add_text(o, "state", adv_object_cm_state(r->state));
	adv_json_add_text(o, "ps", adv_object_port_space(r->cm_id.port_space));
	adv_object_sockaddr(r->cm_id.local, address);
	adv_json_add_text(o, "src-addr", address);
	adv_object_sockaddr(r->cm_id.remote, address);
	adv_json_add_text(o, "dst-addr", address);
	if (details)
		adv_json_add_text(o, "type", adv_qp_type_name((enum ibv_qp_type)r->type));
}

struct json_object *adv_res_json(const struct adv_object *r, enum adv_resource_kind kind,
				 bool details)
{
	static void (*const add[ADV_RESOURCE_KINDS])(struct json_object * o,
						     const struct adv_object *r, bool details) = {
		[ADV_RESOURCE_QP] = add_qp,	  [ADV_RESOURCE_CQ] = add_cq,
		[ADV_RESOURCE_MR] = add_mr,	  [ADV_RESOURCE_PD] = add_pd,
		[ADV_RESOURCE_SRQ] = add_srq,	  [ADV_RESOURCE_CTX] = add_ctx,
		[ADV_RESOURCE_CM_ID] = add_cm_id,
	};
	struct json_object *one = adv_json_object();
	char command[ADV_COMMAND_TEXT];

	adv_json_add_text(one, "ifname", "adverb0");
	add[kind](one, r, details);
	if (kind != ADV_RESOURCE_CM_ID)
		adv_json_add_number(one, "ctxn", r->context);
	adv_object_command(r->pid, command);
	adv_json_add_number(one, "pid", r->pid);
	adv_json_add_text(one, "comm", command);
	return one;
}

void adv_res_print_json(const struct adv_objects *o, enum adv_resource_kind kind, bool details)
{
	struct json_object *all = adv_json_array();

	for (size_t i = 0; i < o->count; i++)
		adv_json_append(all, adv_res_json(&o->list[i], kind, details));
	adv_json_print(stdout, all);
}
