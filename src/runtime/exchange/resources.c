/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/exchange/resources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/sys.h"
#include "runtime/exchange/resource_exchange.h"
#include "nic/wire/slot.h"

#define ANSWER_MS   500
#define ALL_MS	    5000
#define ROUNDS_MOST 65536 /* most answers of one process; all its objects fit */
#define NUMBER_BITS 20	  /* bits of an object's number; the slot is above them */

struct query {
	struct adv_control *control;
	const struct adv_resource_query *wanted;
	enum adv_resource_kind kind;
	uint64_t deadline_ms;
	bool enough;
	struct adv_resource_message message;
	struct adv_object sum[ADV_RESOURCE_KINDS];
};

/* ---- one request ---- */

static int receive_resource_answer(int fd, struct adv_resource_message *m)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int n;

	do
		n = adv_sys_poll(&p, 1, ANSWER_MS);
	while (n < 0 && errno == EINTR);
	return n > 0 ? adv_resource_receive(fd, m) : ETIMEDOUT;
}

/* Sends one request and receives its answer in q->message. q->message.from is where the listing
 * continues. 0 or errno. */
static int query_once(struct query *q, const struct adv_control_fault *target)
{
	const struct adv_control_fault open = {ADV_CONTROL_FAULT_OPEN, 0};
	struct adv_resource_message *m = &q->message;
	char why[ADV_CONTROL_TEXT_LEN];
	int fd = -1, none = -1;
	int error = adv_control_fault(q->control, &open, &fd, why, sizeof(why));

	if (error)
		return error;
	m->magic = ADV_RESOURCE_EXCHANGE_MAGIC;
	m->version = ADV_RESOURCE_EXCHANGE_VERSION;
	m->kind = (uint16_t)q->kind;
	m->count = 0;
	error = adv_resource_send(fd, m);
	if (!error)
		error = adv_control_fault(q->control, target, &none, why, sizeof(why));
	if (!error)
		error = receive_resource_answer(fd, m);
	adv_sys_close(fd);
	if (!error && m->kind != q->kind)
		error = EPROTO;
	return error ? error : m->result;
}

/* ---- the listed objects ---- */

/* Returns a number that is unique on the machine, for a number of one process's engine. */
static uint32_t machine_wide_number(uint32_t slot, uint32_t number)
{
	return number ? slot << NUMBER_BITS | (number & ((1u << NUMBER_BITS) - 1)) : 0;
}

/* shared: slot of the PD and the context, which the shards of a device share. */
static void make_numbers_unique(struct adv_object *r, enum adv_resource_kind kind, uint32_t shared)
{
	if (kind == ADV_RESOURCE_CM_ID)
		return;
	if (kind != ADV_RESOURCE_QP && kind != ADV_RESOURCE_LATENCY && kind != ADV_RESOURCE_MR)
		r->number = machine_wide_number(r->slot, r->number);
	r->pd = machine_wide_number(shared, r->pd);
	r->context = machine_wide_number(shared, r->context);
	if (kind == ADV_RESOURCE_SRQ)
		r->srq.cq = machine_wide_number(r->slot, r->srq.cq);
	if (kind != ADV_RESOURCE_QP)
		return;
	r->qp.send_cq = machine_wide_number(r->slot, r->qp.send_cq);
	r->qp.recv_cq = machine_wide_number(r->slot, r->qp.recv_cq);
	r->qp.srq = machine_wide_number(r->slot, r->qp.srq);
}

static void report_objects(struct query *q, uint32_t slot, uint32_t pid)
{
	for (uint32_t i = 0; i < q->message.count && !q->enough; i++) {
		struct adv_object *r = &q->message.object[i];
		uint32_t shared = r->slot > 0 && r->slot < ADV_SLOTS ? r->slot : slot;

		if (q->kind == ADV_RESOURCE_SUMMARY) {
			if (r->type < ADV_RESOURCE_KINDS)
				q->sum[r->type].users += r->users;
			continue;
		}
		r->slot = slot;
		if (q->kind != ADV_RESOURCE_CM_ID)
			r->pid = pid;
		if (q->wanted->pid && q->wanted->pid != r->pid)
			continue;
		make_numbers_unique(r, q->kind, shared);
		q->enough = !q->wanted->fn(q->wanted->user, r);
	}
}

static void report_silence(const struct query *q, uint32_t pid, int error)
{
	adv_info("process %u does not list its objects: %s", pid, strerror(error));
	if (q->wanted->silent && error != EPERM && error != ECONNRESET)
		q->wanted->silent(q->wanted->user, pid, error);
}

/* Lists all objects of one process, or of adverbd. If a request fails, skips the remaining objects.
 * 0, or ECONNRESET: the connection to adverbd is lost. */
static int query_target(struct query *q, const struct adv_control_fault *target, uint32_t slot,
			uint32_t pid)
{
	q->message.from = 0;
	for (int i = 0; i < ROUNDS_MOST && !q->enough && adv_clock_ms() < q->deadline_ms; i++) {
		uint64_t from = q->message.from;
		int error = query_once(q, target);

		if (error) {
			report_silence(q, pid, error);
			return error == ECONNRESET ? error : 0;
		}
		/* A device with several slots lists all its objects at its first slot only. */
		if (slot && q->message.slot != slot)
			return 0;
		report_objects(q, slot, pid);
		if (q->message.from == ADV_RESOURCES_END || q->message.from <= from)
			return 0;
	}
	return 0;
}

static int query_processes(struct query *q)
{
	struct adv_control_entry e = {.slot = 0};
	int error = 0;

	while (!error && !q->enough && (error = adv_control_list(q->control, e.slot, &e)) == 0) {
		const struct adv_control_fault target = {ADV_CONTROL_FAULT_SLOT, e.slot};

		if (e.connected && (!q->wanted->pid || q->wanted->pid == e.pid) &&
		    (!q->wanted->device || strcmp(q->wanted->device, e.device) == 0))
			error = query_target(q, &target, e.slot, e.pid);
		e.slot++;
	}
	return error == ENOENT ? 0 : error;
}

static int query_adverbd(struct query *q)
{
	const struct adv_control_fault target = {ADV_CONTROL_FAULT_OBJECTS, 0};

	return query_target(q, &target, 0, 0);
}

int adv_resources_each(struct adv_control *c, const struct adv_resource_query *query)
{
	enum adv_resource_kind kind = query->kind;
	struct query *q = calloc(1, sizeof(*q));
	int error = q ? 0 : ENOMEM;

	if (!q)
		return error;
	*q = (struct query){.control = c, .wanted = query, .kind = kind};
	q->deadline_ms = adv_clock_ms() + ALL_MS;
	if (kind != ADV_RESOURCE_CM_ID)
		error = query_processes(q);
	if (!error && (kind == ADV_RESOURCE_CM_ID || kind == ADV_RESOURCE_SUMMARY))
		error = query_adverbd(q);
	for (uint8_t i = 0; !error && kind == ADV_RESOURCE_SUMMARY && i < ADV_RESOURCE_KINDS; i++) {
		q->sum[i].type = i;
		if (!query->fn(query->user, &q->sum[i]))
			break;
	}
	free(q);
	return error;
}
