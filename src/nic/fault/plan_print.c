/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints fault plans and the errors in them. */
#include "nic/fault/plan.h"

#include <stdarg.h>
#include <stdio.h>

#include "nic/fault/name.h"

/* Text that grows. If there is no more room, `len` continues to count. */
struct text {
	char *out;
	size_t room;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void append_text(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->len < t->room ? t->out + t->len : NULL,
		      t->len < t->room ? t->room - t->len : 0, fmt, args);
	va_end(args);
	t->len += n > 0 ? (size_t)n : 0;
}

/* Writes the value with its decimals, without trailing zeros. */
static void add_decimal(struct text *t, uint64_t value, uint64_t unit, const char *suffix)
{
	char fraction[24];
	uint64_t rest = value % unit;
	int n = 0;

	append_text(t, "%llu", (unsigned long long)(value / unit));
	while (rest) {
		rest *= 10;
		fraction[n++] = (char)('0' + rest / unit);
		rest %= unit;
	}
	if (n)
		append_text(t, ".%.*s", n, fraction);
	append_text(t, "%s", suffix);
}

static void add_time(struct text *t, const char *name, uint64_t ns)
{
	append_text(t, "%s=", name);
	if (ns >= 1000000000 || ns == 0)
		add_decimal(t, ns, 1000000000, "s");
	else if (ns >= 1000000)
		add_decimal(t, ns, 1000000, "ms");
	else if (ns >= 1000)
		add_decimal(t, ns, 1000, "us");
	else
		add_decimal(t, ns, 1, "ns");
}

static void add_range(struct text *t, const char *name, const char *format, uint64_t first,
		      uint64_t last)
{
	char number[32];

	snprintf(number, sizeof(number), format[0] == 'x' ? "0x%llx" : "%llu",
		 (unsigned long long)first);
	append_text(t, "%s=%s", name, number);
	if (first == last)
		return;
	snprintf(number, sizeof(number), format[0] == 'x' ? "0x%llx" : "%llu",
		 (unsigned long long)last);
	append_text(t, "-%s", number);
}

static void add_peer(struct text *t, const struct adv_fault_rule *r)
{
	char address[ADV_GID_TEXT_LENGTH];

	append_text(t, " peer=%s", adv_gid_text(&r->peer, address));
	/* The bits after the prefix are 0, so the prefix of an IPv4 address has at least 96 bits.
	 */
	if (r->peer_bits < 128)
		append_text(t, "/%u", r->peer_bits - (adv_gid_is_ipv4(&r->peer) ? 96u : 0u));
}

static void add_queues(struct text *t, uint8_t queues)
{
	const char *before = " queue=";

	for (unsigned q = 0; q < ADV_FAULT_QUEUES; q++) {
		if (!(queues & 1u << q))
			continue;
		append_text(t, "%s%s", before, adv_fault_queue_name(q));
		before = ",";
	}
}

static void add_conditions(struct text *t, const struct adv_fault_rule *r)
{
	if (r->tx && !r->rx)
		append_text(t, " tx");
	if (r->rx && !r->tx)
		append_text(t, " rx");
	if (r->queues)
		add_queues(t, r->queues);
	if (r->has_kinds) {
		append_text(t, " op=");
		t->len +=
			adv_fault_kinds_print(&r->kinds, t->len < t->room ? t->out + t->len : NULL,
					      t->len < t->room ? t->room - t->len : 0);
	}
	if (r->peer_bits)
		add_peer(t, r);
	if (r->has_qpn)
		add_range(t, " qpn", "x", r->qpn_first, r->qpn_last);
	if (r->has_psn)
		add_range(t, " psn", "x", r->psn_first, r->psn_last);
	if (r->from)
		add_time(t, " from", r->from);
	if (r->until && r->action != ADV_FAULT_PORT_DOWN)
		add_time(t, " until", r->until);
	if (r->nth_first)
		add_range(t, " nth", "u", r->nth_first, r->nth_last);
	if (r->every)
		append_text(t, " every=%llu", (unsigned long long)r->every);
	if (r->times)
		append_text(t, " times=%llu", (unsigned long long)r->times);
}

static void add_parameters(struct text *t, const struct adv_fault_rule *r)
{
	switch (r->action) {
	case ADV_FAULT_DUPLICATE:
		if (r->count != 1)
			append_text(t, " copies=%u", r->count);
		if (r->time)
			add_time(t, " after", r->time);
		break;
	case ADV_FAULT_REORDER:
		append_text(t, " by=%u", r->count);
		add_time(t, " hold", r->time);
		break;
	case ADV_FAULT_CORRUPT:
		if (r->count)
			append_text(t, " bits=%u", r->count);
		if (r->length)
			append_text(t, " length=%+d", r->length);
		if (r->icrc_right)
			append_text(t, " icrc=right");
		break;
	case ADV_FAULT_DELAY:
		if (r->jitter)
			add_time(t, " jitter", r->jitter);
		break;
	default:
		break;
	}
}

static void add_rule(struct text *t, const struct adv_fault_rule *r)
{
	const char *action = adv_fault_action_name(r->action);
	bool lasts = r->action == ADV_FAULT_DELAY || r->action == ADV_FAULT_DOWN ||
		     r->action == ADV_FAULT_PORT_DOWN || r->action == ADV_FAULT_TEAR;

	append_text(t, "%s", t->len ? "; " : "");
	if (lasts)
		add_time(t, action, r->time);
	else if (adv_fault_has_value(r->action))
		append_text(t, "%s=%s", action, adv_fault_value_name(r->action, r->value));
	else
		append_text(t, "%s", action);
	if (r->chance != ADV_FAULT_CERTAIN) {
		append_text(t, lasts || adv_fault_has_value(r->action) ? " chance=" : "=");
		add_decimal(t, r->chance, ADV_FAULT_CERTAIN / 100, "%");
	}
	add_parameters(t, r);
	add_conditions(t, r);
}

size_t adv_fault_plan_print(const struct adv_fault_plan *plan, char *out, size_t room)
{
	struct text t = {out, room, 0};

	if (room)
		out[0] = 0;
	if (plan->has_seed)
		append_text(&t, "seed=%llu", (unsigned long long)plan->seed);
	for (unsigned i = 0; i < plan->count; i++)
		add_rule(&t, &plan->rule[i]);
	return t.len;
}

size_t adv_fault_error_print(const struct adv_fault_error *error, const char *text, size_t len,
			     char *out, size_t room)
{
	struct text t = {out, room, 0};
	size_t at = error->at < len ? error->at : len;
	size_t begin = at, end = at;

	while (begin > 0 && text[begin - 1] != '\n' && at - begin < 60)
		begin--;
	while (end < len && text[end] != '\n' && end - at < 60)
		end++;
	if (room)
		out[0] = 0;
	append_text(&t, "%s\n  ", error->text);
	for (size_t i = begin; i < end; i++)
		append_text(&t, "%c", text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
	append_text(&t, "\n  %*s^", (int)(at - begin), "");
	return t.len;
}
