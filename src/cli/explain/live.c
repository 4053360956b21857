/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/explain/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command/command.h"
#include "cli/explain/json.h"
#include "cli/explain/print.h"
#include "cli/observe/port_reading.h"
#include "runtime/exchange/fault_exchange.h"

#define READINGS_NS   100000000u  /* time between the two readings */
#define RATES_NS      1000000000u /* and between those of the port: bursts are shorter */
#define SHOWN_MOST    8		  /* queue pairs shown if none is selected */
#define FAULT_WAIT_MS 500

/* Both readings of a process. */
struct readings {
	struct adv_control *control;
	uint32_t pid;
	struct adv_objects qps[2];
	struct adv_objects cqs[2];
	struct adv_port_reading port[2];
	uint64_t now; /* time of the second reading, ns */
	bool faults;
	struct json_object *json; /* the report; NULL: it is printed as text */
};

/* ---- reading ---- */

static bool read_once(struct readings *r, unsigned i)
{
	return adv_objects_read(&r->qps[i], r->control, ADV_RESOURCE_QP, r->pid) &&
	       adv_objects_read(&r->cqs[i], r->control, ADV_RESOURCE_CQ, r->pid);
}

/* True if the process has a fault plan. */
static bool has_faults(struct adv_control *c, uint32_t slot)
{
	const struct adv_control_fault target = {ADV_CONTROL_FAULT_SLOT, slot};
	struct adv_fault_exchange_message *m = calloc(1, sizeof(*m));
	char why[ADV_CONTROL_TEXT_LEN];
	bool in_force = false;

	if (m) {
		m->command = ADV_FAULT_SHOW;
		in_force = adv_fault_request(c, &target, m, FAULT_WAIT_MS, why, sizeof(why)) == 0 &&
			   m->in_force;
	}
	free(m);
	return in_force;
}

static bool read_twice(struct readings *r)
{
	const struct timespec pause = {0, READINGS_NS};

	if (!read_once(r, 0) || adv_port_reading_take(r->control, &r->port[0]) != 0)
		return false;
	nanosleep(&pause, NULL);
	if (!read_once(r, 1))
		return false;
	r->now = adv_clock_ns();
	r->faults = r->qps[1].count && has_faults(r->control, r->qps[1].list[0].slot);
	return true;
}

static void free_readings(struct readings *r)
{
	for (int i = 0; i < 2; i++) {
		adv_objects_free(&r->qps[i]);
		adv_objects_free(&r->cqs[i]);
	}
}

static const struct adv_object *find_object(const struct adv_objects *o, uint32_t number)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->list[i].number == number)
			return &o->list[i];
	return NULL;
}

/* ---- the facts of one queue pair ---- */

static uint32_t waiting_in(const struct readings *r, uint32_t number)
{
	const struct adv_object *cq = find_object(&r->cqs[1], number);

	return cq ? cq->cq.waiting : 0;
}

/* True if completions wait in the CQ, and none was polled or added between the readings. */
static bool is_cq_stuck(const struct readings *r, uint32_t number)
{
	const struct adv_object *before = find_object(&r->cqs[0], number);
	const struct adv_object *now = find_object(&r->cqs[1], number);

	return before && now && now->cq.waiting && now->cq.waiting == before->cq.waiting;
}

static void note_cqs(const struct readings *r, struct adv_triage_facts *f)
{
	const struct adv_object_qp *before = &f->before->qp, *now = &f->now->qp;
	bool stuck = is_cq_stuck(r, now->send_cq) || is_cq_stuck(r, now->recv_cq);

	f->unpolled = f->unpolled_sends = waiting_in(r, now->send_cq);
	if (now->recv_cq != now->send_cq)
		f->unpolled += waiting_in(r, now->recv_cq);
	f->cq_stuck =
		stuck && before->send_done == now->send_done && before->recv_done == now->recv_done;
}

/* Finds the process that has a QP number of this machine. */
static bool find_owner(struct adv_control *c, uint32_t qpn, struct adv_control_entry *owner)
{
	const struct adv_senders *senders = adv_control_senders(c);
	uint16_t slot = atomic_load(&senders->home[adv_qpn_prefix(qpn)]);

	return slot && adv_control_list(c, slot, owner) == 0 && owner->slot == slot;
}

static enum adv_peer_process state_of_qp(struct adv_control *c, uint32_t pid, uint32_t qpn)
{
	enum adv_peer_process state = ADV_PEER_NO_QP;
	const struct adv_object *qp;
	struct adv_objects o;

	if (!adv_objects_read(&o, c, ADV_RESOURCE_QP, pid)) {
		adv_objects_free(&o);
		return ADV_PEER_UNKNOWN;
	}
	qp = find_object(&o, qpn);
	if (qp)
		state = qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS ||
					qp->state == IBV_QPS_SQD
				? ADV_PEER_RUNS
				: ADV_PEER_NOT_READY;
	else if (o.silent_count)
		state = ADV_PEER_STOPPED;
	adv_objects_free(&o);
	return state;
}

/* Finds the peer of an iWARP queue pair by the addresses of its id, which adverbd knows. */
static bool find_stream_owner(const struct readings *r, const struct adv_object *qp,
			      struct adv_control_entry *owner)
{
	struct adv_objects ids;
	bool found = false;

	if (!adv_objects_read(&ids, r->control, ADV_RESOURCE_CM_ID, 0)) {
		adv_objects_free(&ids);
		return false;
	}
	for (size_t i = 0; i < ids.count && !found; i++) {
		const struct adv_object *id = &ids.list[i];

		found = id->pid &&
			adv_object_is_at(id->cm_id.local, qp->qp.dgid, qp->qp.stream_peer) &&
			adv_object_is_at(id->cm_id.remote, qp->qp.sgid, qp->qp.stream_local);
		if (!found)
			continue;
		owner->pid = id->pid;
		adv_object_command(id->pid, owner->comm);
	}
	adv_objects_free(&ids);
	return found;
}

static enum adv_peer_process look_at_stream_peer(const struct readings *r,
						 const struct adv_object *qp,
						 struct adv_control_entry *owner)
{
	if (!find_stream_owner(r, qp, owner))
		return ADV_PEER_UNKNOWN;
	return adv_object_process_state(owner->pid) == 'T' ? ADV_PEER_STOPPED : ADV_PEER_RUNS;
}

static enum adv_peer_process look_at_peer(const struct readings *r, const struct adv_object *qp,
					  struct adv_control_entry *owner)
{
	if (!(qp->qp.flags & ADV_QP_LOCAL_PEER))
		return ADV_PEER_UNKNOWN;
	if (qp->qp.flags & ADV_QP_IWARP)
		return look_at_stream_peer(r, qp, owner);
	if (!find_owner(r->control, qp->qp.remote, owner))
		return ADV_PEER_NO_QP;
	if (adv_object_process_state(owner->pid) == 'T')
		return ADV_PEER_STOPPED;
	if (geteuid() != 0 && owner->uid != geteuid())
		return ADV_PEER_UNKNOWN;
	return owner->pid ? state_of_qp(r->control, owner->pid, qp->qp.remote) : ADV_PEER_UNKNOWN;
}

static void probe_peer(const struct readings *r, struct adv_triage_facts *f)
{
	struct adv_gid from, to;

	memcpy(from.raw, f->now->qp.sgid, sizeof(from.raw));
	memcpy(to.raw, f->now->qp.dgid, sizeof(to.raw));
	f->cm = adv_probe_cm(r->control, &from, &to);
	f->echo = adv_probe_echo(&from, &to, 0);
	f->echo_long = adv_probe_echo(&from, &to, f->now->qp.mtu);
}

/* Collects what is known of a QP. probe: sends probes if the peer does not answer. */
static void collect_facts(const struct readings *r, const struct adv_object *now, bool probe,
			  struct adv_triage_facts *f, struct adv_control_entry *owner)
{
	const struct adv_object *before = find_object(&r->qps[0], now->number);

	*f = (struct adv_triage_facts){.before = before ? before : now, .now = now};
	*owner = (struct adv_control_entry){.slot = 0};
	f->faults = r->faults;
	note_cqs(r, f);
	if (!adv_object_has_peer(now) || (!probe && r->qps[1].count > SHOWN_MOST))
		return;
	f->peer = look_at_peer(r, now, owner);
	if (owner->slot && f->peer != ADV_PEER_STOPPED)
		f->peer_faults = has_faults(r->control, owner->slot);
	if (probe && f->peer == ADV_PEER_UNKNOWN && adv_triage_is_silent(f->before, now))
		probe_peer(r, f);
}

/* ---- the report ---- */

static bool has_trouble(const struct readings *r, const struct adv_object *qp)
{
	struct adv_finding findings[ADV_FINDINGS];
	struct adv_control_entry owner;
	struct adv_triage_facts f;

	collect_facts(r, qp, false, &f, &owner);
	adv_triage(&f, findings);
	return findings[0].branch != ADV_BRANCH_NONE;
}

static void explain_qp(const struct readings *r, const struct adv_object *qp)
{
	struct adv_finding findings[ADV_FINDINGS];
	struct adv_control_entry owner;
	struct adv_triage_facts f;
	unsigned n;

	collect_facts(r, qp, true, &f, &owner);
	n = adv_triage(&f, findings);
	if (r->json) {
		adv_explain_json_qp(r->json, &f, &owner, r->now, findings, n);
		return;
	}
	adv_explain_print_qp(&f, &owner, r->now);
	adv_explain_print_findings(findings, n);
}

/* Explains the QPs with trouble; if there are none, all. At most SHOWN_MOST. */
static void explain_all(const struct readings *r)
{
	uint32_t troubled = 0, shown = 0;

	for (size_t i = 0; i < r->qps[1].count; i++)
		troubled += has_trouble(r, &r->qps[1].list[i]);
	for (size_t i = 0; i < r->qps[1].count && shown < SHOWN_MOST; i++) {
		if (troubled && !has_trouble(r, &r->qps[1].list[i]))
			continue;
		explain_qp(r, &r->qps[1].list[i]);
		shown++;
	}
	if (r->json) {
		adv_json_add_number(r->json, "count", r->qps[1].count);
		adv_json_add_number(r->json, "troubled", troubled);
	} else if (r->qps[1].count > shown) {
		printf("%u of %u queue pairs are shown, %u have trouble; --qp QPN selects one\n",
		       shown, r->qps[1].count, troubled);
	}
}

static int report_silent_process(const struct readings *r)
{
	bool stopped = adv_object_process_state(r->pid) == 'T';
	const struct adv_finding finding = {
		ADV_BRANCH_LOCAL,
		stopped ? "the process itself is stopped" : "the process does not answer",
		stopped ? "let it continue (kill -CONT), or find out who stopped it"
			: "is it frozen (cgroup), or does it get no processor time?"};

	if (r->json) {
		adv_explain_json_findings(r->json, &finding, 1);
		return 0;
	}
	printf("process %u lists no objects\n", r->pid);
	adv_explain_print_findings(&finding, 1);
	return 0;
}

/* Prints why there is no queue pair to explain. */
static int report_no_qp(uint32_t pid, uint32_t qpn)
{
	struct stat process;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (stat(path, &process) != 0)
		fprintf(stderr, "adverb explain: there is no process %u", pid);
	else if (geteuid() != 0 && process.st_uid != geteuid())
		fprintf(stderr,
			"adverb explain: process %u belongs to user %u: only that user and root "
			"may request this",
			pid, process.st_uid);
	else if (qpn)
		fprintf(stderr, "adverb explain: process %u has no queue pair 0x%06x", pid, qpn);
	else
		fprintf(stderr, "adverb explain: process %u has no queue pair", pid);
	fprintf(stderr, "; adverb res qp lists them\n");
	return ADV_EXIT_FAILED;
}

/* Reads the port again. What is found is printed before. False: adverbd has ended. */
static bool read_port_again(struct readings *r)
{
	uint64_t passed = adv_clock_ns() - r->port[0].at;
	struct timespec rest = adv_clock_timespec(passed < RATES_NS ? RATES_NS - passed : 0);

	fflush(stdout);
	nanosleep(&rest, NULL);
	return adv_port_reading_take(r->control, &r->port[1]) == 0;
}

static int report_qps(struct readings *r, uint32_t qpn)
{
	const struct adv_object *qp = qpn ? find_object(&r->qps[1], qpn) : NULL;

	if (!r->qps[1].count && (r->qps[0].silent_count || r->qps[1].silent_count))
		return report_silent_process(r);
	if (!r->qps[1].count || (qpn && !qp))
		return report_no_qp(r->pid, qpn);
	if (qp)
		explain_qp(r, qp);
	else
		explain_all(r);
	if (!read_port_again(r))
		return ADV_EXIT_FAILED;
	if (r->json)
		adv_explain_json_port(r->json, &r->port[0], &r->port[1]);
	else
		adv_explain_print_port(&r->port[0], &r->port[1]);
	return 0;
}

int adv_explain_process(uint32_t pid, uint32_t qpn, bool json)
{
	struct readings r = {.pid = pid};
	int status = ADV_EXIT_FAILED;

	r.control = adv_cli_connect(false);
	if (!r.control)
		return status;
	if (json) {
		r.json = adv_json_object();
		adv_json_add_number(r.json, "pid", pid);
	}
	if (read_twice(&r))
		status = report_qps(&r, qpn);
	if (json && status == 0)
		adv_json_print(stdout, r.json);
	else if (json)
		json_object_put(r.json);
	free_readings(&r);
	adv_control_close(r.control);
	return status;
}
