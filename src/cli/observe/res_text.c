/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints objects as tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/observe/errors.h"
#include "cli/observe/res.h"
#include "nic/engine/cause.h"
#include "nic/engine/names.h"
#include "nic/wire/gid.h"

static void print_owner(const struct adv_object *r)
{
	char command[ADV_COMMAND_TEXT];

	adv_object_command(r->pid, command);
	printf("%-8u  %s\n", r->pid, command);
}

/* ---- queue pairs ---- */

static void print_error(const struct adv_object_qp *q)
{
	if (!q->error_kind)
		return;
	printf("    error %s", q->error_kind == ADV_QP_ERROR_EVENT
				       ? adv_event_text(q->error_status)->name
				       : adv_wc_status_name((enum ibv_wc_status)q->error_status));
	if (q->error_kind != ADV_QP_ERROR_EVENT)
		printf(" wr-id %" PRIu64, q->error_wr_id);
	printf(" cause %u (%s)\n", q->error_cause,
	       adv_cause(q->error_cause) ? adv_cause(q->error_cause)->name : "unknown");
}

static void print_qp_details(const struct adv_object *r)
{
	const struct adv_object_qp *q = &r->qp;
	char gid[ADV_GID_TEXT_LENGTH];

	adv_gid_text((const struct adv_gid *)(const void *)q->sgid, gid);
	if (adv_object_has_peer(r))
		printf("    local %s gid-index %u port %u\n", gid, q->sgid_index, r->port);
	printf("    pdn %u send-cqn %u recv-cqn %u srqn %u ctxn %u\n", r->pd, q->send_cq,
	       q->recv_cq, q->srq, r->context);
	printf("    send: room %u posted %u outstanding %u; receive: room %u unused %u\n",
	       q->send_room, q->send_posted, q->send_posted - q->send_done, q->recv_room,
	       q->recv_posted - q->recv_done);
	if (r->type != IBV_QPT_UD && r->type != IBV_QPT_UC)
		printf("    una-psn %u window %u in-flight %u timeout %u retries %u/%u rnr-retries "
		       "%u/%u msn %u\n",
		       q->una_psn, q->window, q->in_flight, q->timeout, q->retry_left, q->retry_cnt,
		       q->rnr_left, q->rnr_retry, q->msn);
	print_error(q);
}

static void print_qp(const struct adv_object *r, bool details)
{
	const struct adv_object_qp *q = &r->qp;
	char peer[ADV_GID_TEXT_LENGTH] = "-", remote[16] = "-";

	if (adv_object_has_peer(r)) {
		adv_gid_text((const struct adv_gid *)(const void *)q->dgid, peer);
		if (!(q->flags & ADV_QP_IWARP))
			snprintf(remote, sizeof(remote), "0x%06x", q->remote);
	}
	printf("0x%06x  %-8s  %-5s  %-15s  %-8s  %-5u  %-8u  %-8u  ", r->number,
	       adv_qp_type_name((enum ibv_qp_type)r->type),
	       adv_qp_state_name((enum ibv_qp_state)r->state), peer, remote, q->mtu, q->sq_psn,
	       q->rq_psn);
	print_owner(r);
	if (details)
		print_qp_details(r);
}

/* ---- other kinds ---- */

static void print_cq(const struct adv_object *r, bool details)
{
	printf("%-10u  %-8u  %-8u  %-6u  ", r->number, r->cq.cqe, r->cq.waiting, r->users);
	print_owner(r);
	if (details)
		printf("    ctxn %u%s\n", r->context, r->cq.overrun ? " overrun" : "");
}

static void print_mr(const struct adv_object *r, bool details)
{
	printf("%-10u  %-14" PRIu64 "  0x%-16" PRIx64 "  %-10u  ", r->number, r->mr.length,
	       r->mr.iova, r->pd);
	print_owner(r);
	if (details)
		printf("    lkey 0x%08x rkey 0x%08x access 0x%x ctxn %u\n", r->mr.lkey, r->mr.rkey,
		       r->mr.access, r->context);
}

static void print_pd(const struct adv_object *r, bool details)
{
	printf("%-10u  %-6u  ", r->number, r->users);
	print_owner(r);
	if (details)
		printf("    ctxn %u\n", r->context);
}

static void print_srq(const struct adv_object *r, bool details)
{
	printf("%-10u  %-6s  %-8u  %-8u  %-10u  ", r->number,
	       r->type == IBV_SRQT_XRC ? "XRC" : "BASIC", r->srq.room, r->srq.posted, r->pd);
	print_owner(r);
	if (details)
		printf("    cqn %u ctxn %u\n", r->srq.cq, r->context);
}

static void print_ctx(const struct adv_object *r, bool details)
{
	printf("%-10u  ", r->number);
	print_owner(r);
	if (details)
		printf("    slot %u\n", r->slot);
}

static void print_cm_id(const struct adv_object *r, bool details)
{
	char local[ADV_SOCKADDR_TEXT], remote[ADV_SOCKADDR_TEXT], qpn[16] = "-";

	adv_object_sockaddr(r->cm_id.local, local);
	adv_object_sockaddr(r->cm_id.remote, remote);
	if (r->cm_id.qpn)
		snprintf(qpn, sizeof(qpn), "0x%06x", r->cm_id.qpn);
	printf("%-6u  %-6s  %-14s  %-8s  %-22s  %-22s  ", r->number,
	       adv_object_port_space(r->cm_id.port_space), adv_object_cm_state(r->state), qpn,
	       local, remote);
	print_owner(r);
	if (details)
		printf("    qp-type %s port %u\n", adv_qp_type_name((enum ibv_qp_type)r->type),
		       r->port);
}

static const struct {
	const char *head;
	void (*print)(const struct adv_object *r, bool details);
} tables[ADV_RESOURCE_KINDS] = {
	[ADV_RESOURCE_QP] = {"QPN       TYPE      STATE  PEER             RQPN      MTU    SQ_PSN  "
			     "  RQ_PSN    PID       COMMAND",
			     print_qp},
	[ADV_RESOURCE_CQ] = {"CQN         CQE       WAITING   USERS   PID       COMMAND", print_cq},
	[ADV_RESOURCE_MR] =
		{"MRN         LENGTH          IOVA                PDN         PID       COMMAND",
		 print_mr},
	[ADV_RESOURCE_PD] = {"PDN         USERS   PID       COMMAND", print_pd},
	[ADV_RESOURCE_SRQ] =
		{"SRQN        TYPE    ROOM      POSTED    PDN         PID       COMMAND",
		 print_srq},
	[ADV_RESOURCE_CTX] = {"CTXN        PID       COMMAND", print_ctx},
	[ADV_RESOURCE_CM_ID] = {"ID      SPACE   STATE           LQPN      LOCAL                   "
				"REMOTE                  PID       COMMAND",
				print_cm_id},
};

void adv_res_print_text(const struct adv_objects *o, enum adv_resource_kind kind, bool details)
{
	if (o->count)
		printf("%s\n", tables[kind].head);
	for (size_t i = 0; i < o->count; i++)
		tables[kind].print(&o->list[i], details);
}
