/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/cm_fault.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "runtime/ucma/state.h"
#include "runtime/exchange/fault_exchange.h"
#include "nic/wire/mad.h"

#define PROCESSES_MAX 256 /* most processes with a plan; a further plan fails with ENOSPC */
/* Most processes of one user with a plan, if the daemon serves many users. */
#define USER_PROCESSES_MAX 128

struct process {
	struct adv_list link;
	pid_t pid;
	uid_t uid;
	struct adv_fault_state state;
};

struct adv_cm_faults {
	struct adv_ucma *ucma;
	struct adv_list processes; /* connected processes that have a plan */
	unsigned count;
	bool daemon_faulty;
	struct adv_fault_state daemon;
};

struct adv_cm_faults *adv_cm_faults_create(struct adv_ucma *u)
{
	struct adv_cm_faults *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->ucma = u;
	adv_list_init(&f->processes);
	return f;
}

static struct process *process_of(struct adv_list *n)
{
	return adv_container_of(n, struct process, link);
}

static struct process *find_process(const struct adv_cm_faults *f, pid_t pid)
{
	adv_list_for_each(struct process, p, &f->processes, link) {
		if (p->pid == pid)
			return p;
	}
	return NULL;
}

static void forget_process(struct adv_cm_faults *f, struct process *p)
{
	adv_list_del(&p->link);
	f->count--;
	free(p);
}

void adv_cm_faults_destroy(struct adv_cm_faults *f)
{
	if (!f)
		return;
	while (!adv_list_empty(&f->processes))
		forget_process(f, process_of(f->processes.next));
	free(f);
}

/* ---- decisions about packets ---- */

/* Finds the process that owns a MAD. NULL: no process with a plan owns it. */
static struct process *find_mad_owner(struct adv_cm_faults *f, const struct adv_rx_meta *meta,
				      const uint8_t *mad, bool sent)
{
	const struct adv_ucma_id *id =
		adv_cm_mad_user(f->ucma->cm, meta, mad, ADV_CM_MAD_LEN, sent);

	return id ? find_process(f, id->channel->client->session.peer.pid) : NULL;
}

static struct process *find_owner_of_sent(struct adv_cm_faults *f, const struct adv_tx_packet *out)
{
	const struct adv_rx_meta meta = {.sgid = out->path->dgid, .dgid = out->path->sgid};

	if (out->iov_count != 1 || out->payload_len != ADV_CM_MAD_LEN)
		return NULL;
	return find_mad_owner(f, &meta, out->iov[0].iov_base, true);
}

static struct process *find_owner_of_received(struct adv_cm_faults *f,
					      const struct adv_rx_packet *in)
{
	struct adv_headers h;
	size_t n = adv_headers_decode(in->data, in->len, &h);

	if (!n || h.bth.dest_qpn != ADV_GSI_QPN || in->len - n != ADV_CM_MAD_LEN)
		return NULL;
	return find_mad_owner(f, in->meta, adv_rx_payload(in, n), false);
}

/* Merges the decision of a second plan into *v. */
static void merge_verdict(struct adv_fault_verdict *v, const struct adv_fault_verdict *more)
{
	v->drop |= more->drop;
	v->mark |= more->mark;
	v->copies += more->copies;
	v->delay += more->delay;
	v->after += more->after;
	if (more->behind) {
		v->behind = more->behind;
		v->hold = more->hold;
	}
	if (more->corrupt) {
		v->corrupt = true;
		v->icrc_right = more->icrc_right;
		v->bits = more->bits;
		v->length = more->length;
		v->dice = more->dice;
	}
	if (v->copies > ADV_FAULT_COPIES_MAX)
		v->copies = ADV_FAULT_COPIES_MAX;
}

static bool decide_packet(void *user, uint64_t now, const struct adv_fault_packet *p,
			  const struct adv_tx_packet *out, const struct adv_rx_packet *in,
			  struct adv_fault_verdict *v)
{
	struct adv_cm_faults *f = user;
	struct process *process = NULL;
	struct adv_fault_verdict more;
	bool hit = false;

	memset(v, 0, sizeof(*v));
	if (f->count)
		process = out ? find_owner_of_sent(f, out) : find_owner_of_received(f, in);
	if (process)
		hit = adv_fault_decide(&process->state, now, p, v);
	if (!f->daemon_faulty || v->drop || !adv_fault_decide(&f->daemon, now, p, &more))
		return hit;
	merge_verdict(v, &more);
	return true;
}

/* ---- plans ---- */

/* Makes QP1 call decide_packet() if there is a plan. If there is none, makes QP1 stop these calls.
 * 0 or ENOMEM. */
static int update_qp1(struct adv_cm_faults *f)
{
	bool faulty = f->count || f->daemon_faulty;

	return adv_qp1_set_faults(f->ucma->qp1, faulty ? decide_packet : NULL, f);
}

void adv_cm_faults_process_leaves(struct adv_cm_faults *f, pid_t pid)
{
	struct process *p = f->count ? find_process(f, pid) : NULL;

	if (!p || adv_users_have_process(f->ucma->users, pid))
		return;
	forget_process(f, p);
	(void)update_qp1(f);
}

static uint64_t new_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = adv_clock_ns();
	return seed % ADV_FAULT_SEEDS;
}

/* The process that a request is about. */
struct subject {
	struct adv_cm_faults *faults;
	pid_t pid;
	uid_t uid;
};

static const struct adv_fault_state *show_process(void *user)
{
	const struct subject *s = user;
	const struct process *p = find_process(s->faults, s->pid);

	return p ? &p->state : NULL;
}

static void clear_process(void *user)
{
	const struct subject *s = user;
	struct process *p = find_process(s->faults, s->pid);

	if (p)
		forget_process(s->faults, p);
	(void)update_qp1(s->faults);
}

static bool may_have_more(const struct adv_cm_faults *f, uid_t uid)
{
	unsigned same = 0;

	adv_list_for_each(const struct process, p, &f->processes, link)
		same += p->uid == uid;
	return f->count < PROCESSES_MAX && (!f->ucma->daemon->system || same < USER_PROCESSES_MAX);
}

static int set_process(void *user, const struct adv_fault_plan *plan)
{
	const struct subject *s = user;
	struct process *p = find_process(s->faults, s->pid);
	int error;

	if (!p) {
		if (!may_have_more(s->faults, s->uid))
			return ENOSPC;
		p = calloc(1, sizeof(*p));
		if (!p)
			return ENOMEM;
		p->pid = s->pid;
		p->uid = s->uid;
		adv_list_add_tail(&s->faults->processes, &p->link);
		s->faults->count++;
	}
	adv_fault_begin(&p->state, plan, adv_clock_ns());
	error = update_qp1(s->faults);
	if (error)
		forget_process(s->faults, p);
	return error;
}

void adv_cm_faults_of_process(struct adv_cm_faults *f, pid_t pid, uid_t uid, int fd)
{
	static const struct adv_fault_exchange_follower follower = {show_process, set_process,
								    clear_process, ADV_SLOT_DAEMON};
	struct subject s = {f, pid, uid};

	adv_fault_exchange_answer(fd, &follower, &s, new_seed());
}

static const struct adv_fault_state *show_daemon(void *user)
{
	const struct adv_cm_faults *f = user;

	return f->daemon_faulty ? &f->daemon : NULL;
}

static void clear_daemon(void *user)
{
	struct adv_cm_faults *f = user;

	f->daemon_faulty = false;
	(void)update_qp1(f);
}

static int set_daemon(void *user, const struct adv_fault_plan *plan)
{
	struct adv_cm_faults *f = user;
	int error;

	adv_fault_begin(&f->daemon, plan, adv_clock_ns());
	f->daemon_faulty = true;
	error = update_qp1(f);
	if (error)
		f->daemon_faulty = false;
	return error;
}

void adv_cm_faults_of_daemon(struct adv_cm_faults *f, int fd)
{
	static const struct adv_fault_exchange_follower follower = {show_daemon, set_daemon,
								    clear_daemon, ADV_SLOT_DAEMON};

	adv_fault_exchange_answer(fd, &follower, f, new_seed());
}
