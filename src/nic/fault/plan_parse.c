/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parses fault plans. ';' or a newline separates rules. Blanks separate the words of a rule. The
 * words are, in any order: one action, conditions, and parameters of the action.
 */
#include "nic/fault/plan.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/array.h"
#include "base/number.h"
#include "base/shown.h"
#include "nic/fault/name.h"
#include "nic/wire/headers.h"

#define SHOWN	     28 /* characters of the plan that a message quotes */
#define US	     1000ull
#define MS	     (1000 * US)
#define SEC	     (1000 * MS)

#define HOLD_DEFAULT (10 * MS)
#define TIME_MAX     (1000000 * SEC) /* sums of times must not overflow */
#define COUNT_MAX    1000000000000ull

/* A word of the text: NAME or NAME=VALUE. */
struct word {
	const char *name;
	size_t name_len;
	const char *value; /* NULL: no value */
	size_t value_len;
};

/* Words other than actions. */
enum key {
	KEY_TX,
	KEY_RX,
	KEY_OP,
	KEY_PEER,
	KEY_QPN,
	KEY_PSN,
	KEY_QUEUE,
	KEY_FROM,
	KEY_UNTIL,
	KEY_NTH,
	KEY_EVERY,
	KEY_CHANCE,
	KEY_TIMES,
	KEY_COPIES,
	KEY_AFTER,
	KEY_BY,
	KEY_HOLD,
	KEY_BITS,
	KEY_LENGTH,
	KEY_ICRC,
	KEY_JITTER,
	KEYS
};

struct parser {
	const char *text;
	size_t len;
	size_t at;
	struct adv_fault_plan *plan;
	struct adv_fault_error *error;
	/* The rule that is being parsed: */
	struct adv_fault_rule rule;
	bool has_action;
	const char *seen[KEYS]; /* position of each word in the text; NULL: not seen */
};

__attribute__((format(printf, 3, 4))) static bool set_error(struct parser *p, const char *at,
							    const char *fmt, ...)
{
	va_list args;

	p->error->at = (size_t)(at - p->text);
	va_start(args, fmt);
	vsnprintf(p->error->text, sizeof(p->error->text), fmt, args);
	va_end(args);
	return false;
}

/* ---- values ---- */

static bool bad_value(struct parser *p, const struct word *w, const char *expected)
{
	if (!w->value || !w->value_len)
		return set_error(p, w->name, "'%s' needs a value: %s",
				 adv_show(w->name, w->name_len, SHOWN).text, expected);
	return set_error(p, w->value, "'%s' is not a value of '%s': expected %s",
			 adv_show(w->value, w->value_len, SHOWN).text,
			 adv_show(w->name, w->name_len, SHOWN).text, expected);
}

/* Reads NUMBER or FIRST-LAST. */
static bool read_range(const char *s, size_t len, uint64_t max, uint64_t *first, uint64_t *last)
{
	const char *hyphen = memchr(s, '-', len);
	size_t n = hyphen ? (size_t)(hyphen - s) : len;

	if (!adv_number_read(s, n, max, first))
		return false;
	*last = *first;
	return !hyphen || adv_number_read(hyphen + 1, len - n - 1, max, last);
}

/* Reads a decimal number of at most 18 digits, times scale. False unless the result is exact. */
static bool read_decimal(const char *s, size_t len, uint64_t scale, uint64_t max, uint64_t *value)
{
	unsigned __int128 v = 0;
	uint64_t divisor = 1;
	unsigned digits = 0;
	bool point = false;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (s[i] < '0' || s[i] > '9' || digits++ >= 18)
			return false;
		v = v * 10 + (unsigned)(s[i] - '0');
		divisor *= point ? 10 : 1;
	}
	if (digits == 0)
		return false;
	v *= scale;
	if (v % divisor != 0 || v / divisor > max)
		return false;
	*value = (uint64_t)(v / divisor);
	return true;
}

static bool read_chance(struct parser *p, const struct word *w, uint32_t *chance)
{
	uint64_t v;

	if (!w->value || w->value_len < 2 || w->value[w->value_len - 1] != '%' ||
	    !read_decimal(w->value, w->value_len - 1, ADV_FAULT_CERTAIN / 100, ADV_FAULT_CERTAIN,
			  &v))
		return bad_value(p, w, "a chance from 0% to 100%, such as 0.5%");
	*chance = (uint32_t)v;
	return true;
}

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {{"ns", 1}, {"us", US}, {"ms", MS}, {"s", SEC}};

static bool read_time(struct parser *p, const struct word *w, uint64_t *ns)
{
	for (unsigned i = 0; w->value && i < ADV_ARRAY_SIZE(units); i++) {
		size_t n = strlen(units[i].name);

		if (w->value_len > n &&
		    memcmp(w->value + w->value_len - n, units[i].name, n) == 0 &&
		    read_decimal(w->value, w->value_len - n, units[i].ns, TIME_MAX, ns))
			return true;
	}
	return bad_value(p, w, "a time with its unit, such as 20us, 1.5ms or 2s");
}

static bool read_count(struct parser *p, const struct word *w, uint64_t max, uint64_t *value)
{
	char expected[64];

	if (w->value && adv_number_read(w->value, w->value_len, max, value) && *value > 0)
		return true;
	snprintf(expected, sizeof(expected), "a whole number from 1 to %llu",
		 (unsigned long long)max);
	return bad_value(p, w, expected);
}

static bool read_opcodes(struct parser *p, const struct word *w)
{
	size_t start = 0;

	if (!w->value || !w->value_len)
		return bad_value(p, w, "names of packets, such as read-response,ack");
	for (size_t i = 0; i <= w->value_len; i++) {
		if (i < w->value_len && w->value[i] != ',')
			continue;
		if (!adv_fault_kinds_add(&p->rule.kinds, w->value + start, i - start))
			return set_error(p, w->value + start,
					 "no packet is called '%s': expected an opcode such as "
					 "rc-send-only, its beginning such as read-response, or "
					 "request, response, atomic, ack, nak, rnr-nak, cm",
					 adv_show(w->value + start, i - start, SHOWN).text);
		start = i + 1;
	}
	p->rule.has_kinds = true;
	return true;
}

/* Reads ADDRESS or ADDRESS/BITS. An IPv4 address or prefix is stored as an IPv4-mapped one. */
static bool read_peer(struct parser *p, const struct word *w)
{
	static const char expected[] =
		"an address such as 192.0.2.7 or 2001:db8::1, or a prefix such as 192.0.2.0/24";
	const char *slash = w->value ? memchr(w->value, '/', w->value_len) : NULL;
	size_t n = slash ? (size_t)(slash - w->value) : w->value_len;
	char text[INET6_ADDRSTRLEN];
	uint8_t *raw = p->rule.peer.raw;
	uint64_t bits;
	bool ipv4;

	if (!w->value || n == 0 || n >= sizeof(text) || memchr(w->value, 0, n))
		return bad_value(p, w, expected);
	memcpy(text, w->value, n);
	text[n] = 0;
	ipv4 = inet_pton(AF_INET, text, raw + 12) == 1;
	if (ipv4) {
		memset(raw, 0, 10);
		raw[10] = raw[11] = 0xff;
	} else if (inet_pton(AF_INET6, text, raw) != 1) {
		return bad_value(p, w, expected);
	}
	bits = ipv4 ? 32 : 128;
	if (slash && (!adv_number_read(slash + 1, w->value_len - n - 1, bits, &bits) ||
		      (bits == 0 && !ipv4)))
		return bad_value(p, w, expected);
	p->rule.peer_bits = (uint8_t)(bits + (ipv4 ? 96 : 0));
	for (unsigned i = p->rule.peer_bits; i < 128; i++)
		raw[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	return true;
}

static bool read_id_range(struct parser *p, const struct word *w, uint32_t *first, uint32_t *last,
			  bool circle)
{
	uint64_t a, b;

	if (!w->value || !read_range(w->value, w->value_len, ADV_QPN_MASK, &a, &b) ||
	    (!circle && a > b))
		return bad_value(p, w,
				 "a number of 24 bits such as 0x12, or a range such as 0x10-0x1f");
	*first = (uint32_t)a;
	*last = (uint32_t)b;
	return true;
}

static bool read_nth(struct parser *p, const struct word *w)
{
	struct adv_fault_rule *r = &p->rule;

	if (!w->value ||
	    !read_range(w->value, w->value_len, COUNT_MAX, &r->nth_first, &r->nth_last) ||
	    r->nth_first == 0 || r->nth_first > r->nth_last)
		return bad_value(p, w, "a number from 1, or a range such as 3-5");
	return true;
}

static bool read_length(struct parser *p, const struct word *w)
{
	uint64_t v;

	if (!w->value || w->value_len < 2 || (w->value[0] != '-' && w->value[0] != '+') ||
	    !adv_number_read(w->value + 1, w->value_len - 1, ADV_FAULT_LENGTH_MAX, &v) || v == 0)
		return bad_value(p, w, "bytes to cut off such as -8, or to put on such as +4");
	p->rule.length = w->value[0] == '-' ? -(int32_t)v : (int32_t)v;
	return true;
}

static bool read_icrc(struct parser *p, const struct word *w)
{
	if (w->value && w->value_len == 5 && memcmp(w->value, "right", 5) == 0)
		p->rule.icrc_right = true;
	else if (!w->value || w->value_len != 5 || memcmp(w->value, "wrong", 5) != 0)
		return bad_value(p, w, "right or wrong");
	return true;
}

static bool text_equals(const char *s, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(s, name, len) == 0;
}

static bool read_queues(struct parser *p, const struct word *w)
{
	size_t start = 0;

	for (size_t i = 0; w->value && i <= w->value_len; i++) {
		unsigned q = 0;

		if (i < w->value_len && w->value[i] != ',')
			continue;
		while (q < ADV_FAULT_QUEUES &&
		       !text_equals(w->value + start, i - start, adv_fault_queue_name(q)))
			q++;
		if (q == ADV_FAULT_QUEUES)
			return bad_value(p, w, "send, recv or srq, with commas");
		p->rule.queues |= (uint8_t)(1u << q);
		start = i + 1;
	}
	return w->value || bad_value(p, w, "send, recv or srq, with commas");
}

/* Reads the duration of an action. Only a delay may be 0, because it may have jitter. */
static bool read_duration(struct parser *p, const struct word *w, enum adv_fault_action action)
{
	if (!read_time(p, w, &p->rule.time))
		return false;
	if (action == ADV_FAULT_TEAR && p->rule.time > ADV_FAULT_TEAR_MAX)
		return set_error(p, w->value, "'tear' takes at most 100ms");
	return p->rule.time || action == ADV_FAULT_DELAY ||
	       set_error(p, w->value, "'%s' needs a time above 0", adv_fault_action_name(action));
}

/* Reads the error of a post or a completion, or the event to raise. */
static bool read_named(struct parser *p, const struct word *w, enum adv_fault_action action)
{
	static const char *const expected[ADV_FAULT_ACTIONS] = {
		[ADV_FAULT_POST] = "the name of an errno that a post may fail with, such as ENOMEM",
		[ADV_FAULT_COMPLETE] =
			"the name of a status that is an error, such as REM_ACCESS_ERR",
		[ADV_FAULT_EVENT] = "the name of an asynchronous event, such as QP_FATAL",
	};

	return (w->value && adv_fault_value_read(action, w->value, w->value_len, &p->rule.value)) ||
	       bad_value(p, w, expected[action]);
}

/* ---- words ---- */

#define ALL	   ((1u << ADV_FAULT_ACTIONS) - 1)
#define ANY_CHANCE (ADV_FAULT_OF_PACKETS | ADV_FAULT_OF_WORK)

/* The words. actions: the actions to which the word belongs, one bit each. */
static const struct {
	const char *name;
	uint32_t actions;
} keys[KEYS] = {
	[KEY_TX] = {"tx", ADV_FAULT_OF_PACKETS},
	[KEY_RX] = {"rx", ADV_FAULT_OF_PACKETS},
	[KEY_OP] = {"op", ADV_FAULT_OF_PACKETS | 1 << ADV_FAULT_POST | 1 << ADV_FAULT_COMPLETE},
	[KEY_PEER] = {"peer", ADV_FAULT_OF_PACKETS},
	[KEY_QPN] = {"qpn", ANY_CHANCE | 1 << ADV_FAULT_EVENT},
	[KEY_PSN] = {"psn", ADV_FAULT_OF_PACKETS},
	[KEY_QUEUE] = {"queue", ADV_FAULT_OF_WORK},
	[KEY_FROM] = {"from", ALL},
	[KEY_UNTIL] = {"until", ANY_CHANCE},
	[KEY_NTH] = {"nth", ANY_CHANCE},
	[KEY_EVERY] = {"every", ANY_CHANCE},
	[KEY_CHANCE] = {"chance", ANY_CHANCE},
	[KEY_TIMES] = {"times", ANY_CHANCE},
	[KEY_COPIES] = {"copies", 1 << ADV_FAULT_DUPLICATE},
	[KEY_AFTER] = {"after", 1 << ADV_FAULT_DUPLICATE},
	[KEY_BY] = {"by", 1 << ADV_FAULT_REORDER},
	[KEY_HOLD] = {"hold", 1 << ADV_FAULT_REORDER},
	[KEY_BITS] = {"bits", 1 << ADV_FAULT_CORRUPT},
	[KEY_LENGTH] = {"length", 1 << ADV_FAULT_CORRUPT},
	[KEY_ICRC] = {"icrc", 1 << ADV_FAULT_CORRUPT},
	[KEY_JITTER] = {"jitter", 1 << ADV_FAULT_DELAY},
};

static bool is_named(const struct word *w, const char *name)
{
	return text_equals(w->name, w->name_len, name);
}

static bool no_value(struct parser *p, const struct word *w)
{
	if (w->value)
		return set_error(p, w->value, "'%s' takes no value",
				 adv_show(w->name, w->name_len, SHOWN).text);
	return true;
}

static bool read_key(struct parser *p, const struct word *w, enum key key)
{
	struct adv_fault_rule *r = &p->rule;
	uint64_t v;

	switch (key) {
	case KEY_TX:
		r->tx = true;
		return no_value(p, w);
	case KEY_RX:
		r->rx = true;
		return no_value(p, w);
	case KEY_OP:
		return read_opcodes(p, w);
	case KEY_PEER:
		return read_peer(p, w);
	case KEY_QPN:
		r->has_qpn = true;
		return read_id_range(p, w, &r->qpn_first, &r->qpn_last, false);
	case KEY_PSN:
		r->has_psn = true;
		return read_id_range(p, w, &r->psn_first, &r->psn_last, true);
	case KEY_QUEUE:
		return read_queues(p, w);
	case KEY_FROM:
		return read_time(p, w, &r->from);
	case KEY_UNTIL:
		return read_time(p, w, &r->until);
	case KEY_NTH:
		return read_nth(p, w);
	case KEY_EVERY:
		return read_count(p, w, COUNT_MAX, &r->every);
	case KEY_CHANCE:
		return read_chance(p, w, &r->chance);
	case KEY_TIMES:
		return read_count(p, w, COUNT_MAX, &r->times);
	case KEY_COPIES:
	case KEY_BY:
	case KEY_BITS:
		if (!read_count(p, w, key == KEY_COPIES ? ADV_FAULT_COPIES_MAX : ADV_FAULT_BITS_MAX,
				&v))
			return false;
		r->count = (uint32_t)v;
		return true;
	case KEY_AFTER:
	case KEY_HOLD:
		return read_time(p, w, &r->time);
	case KEY_LENGTH:
		return read_length(p, w);
	case KEY_ICRC:
		return read_icrc(p, w);
	case KEY_JITTER:
		return read_time(p, w, &r->jitter);
	default:
		return false;
	}
}

/*
 * Reads the word of the action. Its value is a duration, an error, an event or a chance, depending
 * on the action. Some actions have no value.
 */
static bool read_action(struct parser *p, const struct word *w, enum adv_fault_action action)
{
	if (p->has_action)
		return set_error(
			p, w->name,
			"a second action in one rule: put ';' between rules, '%s' before it",
			adv_fault_action_name(p->rule.action));
	p->has_action = true;
	p->rule.action = action;
	if (action == ADV_FAULT_DELAY || action == ADV_FAULT_DOWN || action == ADV_FAULT_TEAR ||
	    action == ADV_FAULT_PORT_DOWN)
		return read_duration(p, w, action);
	if (adv_fault_has_value(action))
		return read_named(p, w, action);
	if (action == ADV_FAULT_DEVICE_FATAL)
		return no_value(p, w);
	if (!w->value)
		return true;
	if (p->seen[KEY_CHANCE])
		return set_error(p, w->value, "the chance is given twice");
	p->seen[KEY_CHANCE] = w->name;
	return read_chance(p, w, &p->rule.chance);
}

static bool read_seed(struct parser *p, const struct word *w)
{
	if (p->plan->has_seed)
		return set_error(p, w->name, "the seed is given twice");
	if (!w->value || !adv_number_read(w->value, w->value_len, UINT64_MAX, &p->plan->seed))
		return bad_value(p, w, "a number of 64 bits");
	p->plan->has_seed = true;
	return true;
}

static bool read_word(struct parser *p, const struct word *w)
{
	for (unsigned i = 0; i < ADV_FAULT_ACTIONS; i++)
		if (is_named(w, adv_fault_action_name(i)))
			return read_action(p, w, (enum adv_fault_action)i);
	for (unsigned i = 0; i < KEYS; i++) {
		if (!is_named(w, keys[i].name))
			continue;
		if (p->seen[i])
			return set_error(p, w->name, "'%s' is given twice in one rule",
					 keys[i].name);
		p->seen[i] = w->name;
		return read_key(p, w, (enum key)i);
	}
	return set_error(p, w->name,
			 "unknown word '%s': expected an action (drop, duplicate, reorder, "
			 "corrupt, delay, mark, down, post, complete, rnr, ...), a condition (tx, "
			 "op, qpn, nth, ...) or seed",
			 adv_show(w->name, w->name_len, SHOWN).text);
}

/* ---- rules ---- */

static void start_rule(struct parser *p)
{
	memset(&p->rule, 0, sizeof(p->rule));
	p->rule.chance = ADV_FAULT_CERTAIN;
	p->has_action = false;
	memset(p->seen, 0, sizeof(p->seen));
}

/* Fills in the defaults of a rule. Call it when the action is known. */
static void fill_defaults(struct parser *p)
{
	struct adv_fault_rule *r = &p->rule;

	if (!r->tx && !r->rx && !adv_fault_has_value(r->action) && r->action != ADV_FAULT_RNR &&
	    r->action != ADV_FAULT_TEAR)
		r->tx = r->rx = true;
	if (r->action == ADV_FAULT_PORT_DOWN)
		r->until = r->from + r->time;
	if (r->action == ADV_FAULT_REORDER && !p->seen[KEY_HOLD])
		r->time = HOLD_DEFAULT;
	if (r->action == ADV_FAULT_DUPLICATE || r->action == ADV_FAULT_REORDER)
		r->count = r->count ? r->count : 1;
	if (r->action == ADV_FAULT_CORRUPT && !r->count && !r->length)
		r->count = 1;
	/* "down=1s" alone is one outage, not an endless series. */
	if (r->action == ADV_FAULT_DOWN && !r->times && !r->every && !r->nth_first &&
	    r->chance == ADV_FAULT_CERTAIN)
		r->times = 1;
}

/* Checks that each word belongs to the action. The action may follow the word in the text. */
static bool check_words(struct parser *p)
{
	for (unsigned i = 0; i < KEYS; i++)
		if (p->seen[i] && !(keys[i].actions & 1u << p->rule.action))
			return set_error(p, p->seen[i], "'%s' does not belong to '%s'",
					 keys[i].name, adv_fault_action_name(p->rule.action));
	if (p->seen[KEY_QPN] && p->rule.action == ADV_FAULT_EVENT &&
	    !adv_fault_event_has_object(p->rule.value))
		return set_error(p, p->seen[KEY_QPN],
				 "'qpn' does not belong to an event of the port");
	return true;
}

/* Checks that some request can match a rule about requests. */
static bool check_requests(struct parser *p)
{
	const struct adv_fault_rule *r = &p->rule;
	bool sent = !r->queues || (r->queues & 1u << ADV_FAULT_SEND_QUEUE);
	bool received = r->queues != 1u << ADV_FAULT_SEND_QUEUE;

	if (r->action == ADV_FAULT_RNR && !received)
		return set_error(
			p, p->seen[KEY_QUEUE],
			"'rnr' applies to receive queues: a send request needs no receive request");
	if (r->action == ADV_FAULT_TEAR && r->queues == 1u << ADV_FAULT_SHARED_QUEUE)
		return set_error(p, p->seen[KEY_QUEUE],
				 "'tear' applies to READs (queue=send) and WRITEs (queue=recv)");
	/* A receive request has no opcode yet when it is posted. */
	if ((1u << r->action & ADV_FAULT_OF_WORK) && r->has_kinds &&
	    !adv_fault_kinds_has_request(&r->kinds, sent,
					 received && r->action == ADV_FAULT_COMPLETE))
		return set_error(p, p->seen[KEY_OP],
				 "no request has these packets: expected packets of requests that "
				 "are sent, such as write, read or send-only%s",
				 r->action == ADV_FAULT_COMPLETE && received
					 ? ", or the last packets of requests that are received"
					 : "");
	return true;
}

/* Checks and stores a complete rule. start: the rule's first word other than "seed"; NULL: there is
 * none. */
static bool end_rule(struct parser *p, const char *start)
{
	const struct adv_fault_rule *r = &p->rule;

	if (!start)
		return true;
	if (!p->has_action)
		return set_error(p, start,
				 "a rule without an action: expected one of drop, duplicate, "
				 "reorder, corrupt, delay, mark, down, post, complete, rnr, tear, "
				 "port-down, device-fatal, event");
	if (!check_words(p) || !check_requests(p))
		return false;
	if (p->seen[KEY_UNTIL] && r->until <= r->from)
		return set_error(p, start,
				 "'until' is not after 'from': the rule would never hold");
	fill_defaults(p);
	p->plan->rule[p->plan->count++] = *r;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool is_end(const struct parser *p)
{
	return p->at == p->len || p->text[p->at] == ';' || p->text[p->at] == '\n';
}

/* Reads the next word of the rule. False: there is none. */
static bool next_word(struct parser *p, struct word *w)
{
	size_t start;

	while (p->at < p->len && is_blank(p->text[p->at]))
		p->at++;
	if (is_end(p))
		return false;
	start = p->at;
	*w = (struct word){.name = p->text + start};
	while (!is_end(p) && !is_blank(p->text[p->at])) {
		if (p->text[p->at] == '=' && !w->value) {
			w->name_len = p->at - start;
			w->value = p->text + p->at + 1;
		}
		p->at++;
	}
	if (w->value)
		w->value_len = (size_t)(p->text + p->at - w->value);
	else
		w->name_len = p->at - start;
	return true;
}

static bool parse_rule(struct parser *p)
{
	const char *start = NULL;
	struct word w;

	start_rule(p);
	while (next_word(p, &w)) {
		if (is_named(&w, "seed")) {
			if (!read_seed(p, &w))
				return false;
			continue;
		}
		if (!start)
			start = w.name;
		if (p->plan->count == ADV_FAULT_RULES)
			return set_error(p, w.name, "too many rules: a plan has at most %d",
					 ADV_FAULT_RULES);
		if (!read_word(p, &w))
			return false;
	}
	return end_rule(p, start);
}

bool adv_fault_plan_parse(struct adv_fault_plan *plan, const char *text, size_t len,
			  struct adv_fault_error *error)
{
	struct parser p = {.text = text, .len = len, .plan = plan, .error = error};

	memset(plan, 0, sizeof(*plan));
	memset(error, 0, sizeof(*error));
	if (len > ADV_FAULT_TEXT_MAX)
		return set_error(&p, text + ADV_FAULT_TEXT_MAX,
				 "the plan is too long: at most %d bytes", ADV_FAULT_TEXT_MAX);
	for (;;) {
		if (!parse_rule(&p))
			return false;
		if (p.at == p.len)
			return true;
		p.at++;
	}
}
