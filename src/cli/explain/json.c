/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/explain/json.h"

#include <string.h>

#include "cli/command/command.h"
#include "cli/observe/res.h"
#include "runtime/identity/hw_counters.h"
#include "nic/engine/cause.h"

/* Returns the array `key` of the object, which is added if it is missing. */
static struct json_object *array_of(struct json_object *to, const char *key)
{
	struct json_object *array;

	return json_object_object_get_ex(to, key, &array) ? array : adv_json_add_array(to, key);
}

/* Appends an empty object to the array `key`, and returns it. */
static struct json_object *append_to(struct json_object *to, const char *key)
{
	struct json_object *o = adv_json_object();

	adv_json_append(array_of(to, key), o);
	return o;
}

static void add_name(struct json_object *to, const char *name)
{
	adv_json_add_text(to, "name", name);
}

/* ---- errors ---- */

void adv_explain_json_error(struct json_object *to, const char *key, uint32_t number,
			    const struct adv_error_text *text)
{
	struct json_object *o = append_to(to, key);

	adv_json_add_number(o, "number", number);
	add_name(o, text->name);
	if (text->string && *text->string)
		adv_json_add_text(o, "string", text->string);
	adv_json_add_text(o, "what", text->text);
	if (text->advice)
		adv_json_add_text(o, "to-do", text->advice);
	else
		adv_json_add_flag(o, "only-by-fault-plan", true);
}

/* Appends the names of the errors whose bits are set. */
static void add_names(struct json_object *array, uint32_t bits,
		      const struct adv_error_text *(*text)(uint32_t number))
{
	for (uint32_t i = 0; i < 32 && text(i); i++)
		if (bits >> i & 1)
			adv_json_append(array, adv_json_text(text(i)->name));
}

void adv_explain_json_cause(struct json_object *to, uint32_t number)
{
	const struct adv_cause *c = adv_cause(number);
	struct json_object *o = append_to(to, "causes");

	adv_json_add_number(o, "number", number);
	add_name(o, c->name);
	adv_json_add_text(o, "what", c->text);
	adv_json_add_text(o, "to-do", c->advice);
	add_names(adv_json_add_array(o, "statuses"), c->statuses, adv_status_text);
	add_names(adv_json_add_array(o, "events"), c->events, adv_event_text);
}

void adv_explain_json_call(struct json_object *to, const struct adv_call_error *e)
{
	struct json_object *o = append_to(to, "calls");

	adv_json_add_text(o, "call", e->call);
	adv_json_add_number(o, "errno", (uint64_t)e->error);
	add_name(o, strerrorname_np(e->error));
	adv_json_add_text(o, "what", e->text);
}

/* ---- --pid ---- */

void adv_explain_json_findings(struct json_object *to, const struct adv_finding *findings,
			       unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct json_object *o = append_to(to, "findings");

		adv_json_add_text(o, "branch", adv_branch_name(findings[i].branch));
		adv_json_add_text(o, "what", findings[i].what);
		adv_json_add_text(o, "to-do", findings[i].remedy);
	}
}

static void add_peer(struct json_object *to, const struct adv_triage_facts *f,
		     const struct adv_control_entry *owner)
{
	static const char *const states[] = {
		[ADV_PEER_UNKNOWN] = "unknown",	    [ADV_PEER_RUNS] = "runs",
		[ADV_PEER_STOPPED] = "stopped",	    [ADV_PEER_NO_QP] = "no-queue-pair",
		[ADV_PEER_NOT_READY] = "not-ready",
	};
	struct json_object *o = adv_json_add_object(to, "peer");

	adv_json_add_text(o, "state", states[f->peer]);
	if (!owner->pid)
		return;
	adv_json_add_number(o, "pid", owner->pid);
	adv_json_add_text(o, "comm", owner->comm);
}

static void add_probes(struct json_object *to, const struct adv_triage_facts *f)
{
	static const char *const results[] = {
		[ADV_PROBE_NOT_TRIED] = "not-tried", [ADV_PROBE_ANSWERED] = "answered",
		[ADV_PROBE_REFUSED] = "refused",     [ADV_PROBE_SILENT] = "silent",
		[ADV_PROBE_TOO_LONG] = "too-long",
	};
	struct json_object *o = adv_json_add_object(to, "probes");

	adv_json_add_text(o, "connection-manager", results[f->cm]);
	adv_json_add_text(o, "echo", results[f->echo]);
	adv_json_add_text(o, "echo-of-path-mtu", results[f->echo_long]);
}

/* Adds the counters that are not 0: {"value", "recent"}. */
static void add_counters(struct json_object *to, const struct adv_triage_facts *f)
{
	struct json_object *counters = adv_json_add_object(to, "counters");
	const struct adv_counters none = {.engine = {0}};
	uint64_t value, was, ignored;
	const char *name;

	for (unsigned i = 0; (name = adv_hw_counter(&none, i, &ignored)); i++) {
		struct json_object *o;

		if (!adv_hw_counter_of_qp(f->now->qp.share, i, &value) || !value)
			continue;
		adv_hw_counter_of_qp(f->before->qp.share, i, &was);
		o = adv_json_add_object(counters, name);
		adv_json_add_number(o, "value", value);
		adv_json_add_number(o, "recent", (uint32_t)(value - was));
	}
}

/* The memory to which access was refused. */
static void add_memory(struct json_object *to, const struct adv_object_qp *q)
{
	struct json_object *o = adv_json_add_object(to, "error-memory");

	adv_json_add_number(o, "rkey", q->error_rkey);
	adv_json_add_number(o, "address", q->error_va);
	adv_json_add_number(o, "length", q->error_length);
}

static void add_stream(struct json_object *to, const struct adv_object_qp *q)
{
	struct json_object *o = adv_json_add_object(to, "stream");

	adv_json_add_flag(o, "connected", (q->flags & ADV_QP_STREAM) != 0);
	adv_json_add_number(o, "local-port", q->stream_local);
	adv_json_add_number(o, "peer-port", q->stream_peer);
	adv_json_add_number(o, "unacknowledged", q->stream_queued);
	adv_json_add_number(o, "retries", q->stream_retries);
}

void adv_explain_json_qp(struct json_object *to, const struct adv_triage_facts *f,
			 const struct adv_control_entry *owner, uint64_t now,
			 const struct adv_finding *findings, unsigned count)
{
	struct json_object *o = adv_res_json(f->now, ADV_RESOURCE_QP, true);
	const struct adv_object_qp *q = &f->now->qp;

	adv_json_append(array_of(to, "queue-pairs"), o);
	adv_json_add_flag(o, "unanswered", (q->flags & ADV_QP_UNANSWERED) != 0);
	adv_json_add_flag(o, "rnr-wait", (q->flags & ADV_QP_RNR_WAIT) != 0);
	if (q->error_kind)
		adv_json_add_number(o, "error-ns-ago", now > q->error_at ? now - q->error_at : 0);
	if (q->flags & ADV_QP_ERROR_MEMORY)
		add_memory(o, q);
	adv_json_add_number(o, "send-held", q->send_held);
	if (q->flags & ADV_QP_IWARP)
		add_stream(o, q);
	adv_json_add_number(o, "unpolled", f->unpolled);
	add_counters(o, f);
	add_peer(o, f, owner);
	add_probes(o, f);
	adv_explain_json_findings(o, findings, count);
}

typedef const char *counter_fn(const struct adv_counters *c, unsigned i, uint64_t *value);

static void add_changes(struct json_object *to, const struct adv_counters *before,
			const struct adv_counters *now, counter_fn *counter)
{
	const char *name;
	uint64_t was, is;

	for (unsigned i = 0; (name = counter(now, i, &is)); i++) {
		counter(before, i, &was);
		if (is != was)
			adv_json_add_number(to, name, is - was);
	}
}

void adv_explain_json_port(struct json_object *to, const struct adv_port_reading *before,
			   const struct adv_port_reading *now)
{
	const struct adv_link_counters *a = &before->counters.link, *b = &now->counters.link;
	struct json_object *o = adv_json_add_object(to, "port"), *changes;

	adv_json_add_number(o, "ns", now->at > before->at ? now->at - before->at : 1);
	adv_json_add_number(o, "tx-packets", b->tx_packets - a->tx_packets);
	adv_json_add_number(o, "tx-bytes", b->tx_bytes - a->tx_bytes);
	adv_json_add_number(o, "rx-packets", b->rx_packets - a->rx_packets);
	adv_json_add_number(o, "rx-bytes", b->rx_bytes - a->rx_bytes);
	changes = adv_json_add_object(o, "changed");
	add_changes(changes, &before->counters, &now->counters, adv_hw_counter_of_port);
	add_changes(changes, &before->counters, &now->counters, adv_hw_counter);
}
