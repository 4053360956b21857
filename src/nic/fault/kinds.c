/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/fault/kinds.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "nic/wire/headers.h"

#define NAME_MAX_LEN 48

/* Names of groups whose opcode names have no common beginning. */
static const struct {
	const char *name;
	uint16_t flags; /* adv_opcode_flags that each member of the group has */
} groups[] = {
	{"request", ADV_PKT_REQUEST},
	{"response", ADV_PKT_RESPONSE},
	{"atomic", ADV_PKT_REQUEST | ADV_PKT_ATOMIC},
	{"acknowledge", 0}, /* ACKs and NAKs; flags do not select opcodes */
};

/* Names that adv_fault_kinds_print() tries first, in this order: the most general ones first. */
static const char *const summaries[] = {
	"request", "response",	    "rc",	   "uc",     "ud", "xrc", "send",
	"write",   "read-response", "acknowledge", "atomic", "ack"};

/* Other spellings of parts of the names. */
static const struct {
	const char *other;
	const char *ours;
} spellings[] = {
	{"rdma", ""},	   {"immediate", "imm"},	{"invalidate", "inv"},
	{"operation", ""}, {"cmpswap", "compare-swap"}, {"fetchadd", "fetch-add"},
};

static const char *const kind_names[ADV_FAULT_KINDS - 256] = {
	"rc-ack", "rc-rnr-nak", "rc-nak", "xrc-ack", "xrc-rnr-nak", "xrc-nak", "cm"};

#define OP(name)  (1u << ADV_OP_##name)
#define SEND_ONLY (OP(SEND_ONLY) | OP(SEND_ONLY_WITH_IMM) | OP(SEND_ONLY_WITH_INV))
#define SENT                                                                                       \
	(SEND_ONLY | OP(WRITE_ONLY) | OP(WRITE_ONLY_WITH_IMM) | OP(READ_REQUEST) |                 \
	 OP(COMPARE_SWAP) | OP(FETCH_ADD) | OP(FLUSH) | OP(ATOMIC_WRITE))
#define RECEIVED                                                                                   \
	(SEND_ONLY | OP(SEND_LAST) | OP(SEND_LAST_WITH_IMM) | OP(SEND_LAST_WITH_INV) |             \
	 OP(WRITE_LAST_WITH_IMM) | OP(WRITE_ONLY_WITH_IMM))

bool adv_fault_kinds_has_request(const struct adv_fault_kinds *set, bool sent, bool received)
{
	uint32_t ops = (sent ? SENT : 0) | (received ? RECEIVED : 0);

	for (unsigned i = 0; i < 256; i++)
		if ((ops >> (i & ADV_OP_MASK) & 1) && adv_fault_kinds_has(set, i))
			return true;
	return false;
}

unsigned adv_fault_kind_of(uint8_t opcode, uint8_t syndrome)
{
	unsigned base;

	if ((opcode & ADV_OP_MASK) != ADV_OP_ACKNOWLEDGE)
		return opcode;
	if ((opcode & ADV_SERVICE_MASK) == ADV_SERVICE_RC)
		base = ADV_FAULT_KIND_RC_ACK;
	else if ((opcode & ADV_SERVICE_MASK) == ADV_SERVICE_XRC)
		base = ADV_FAULT_KIND_XRC_ACK;
	else
		return opcode;
	switch (syndrome & ADV_AETH_TYPE_MASK) {
	case ADV_AETH_ACK:
		return base;
	case ADV_AETH_RNR_NAK:
		return base + 1;
	default:
		return base + 2;
	}
}

static bool is_acknowledge(unsigned kind)
{
	return kind >= ADV_FAULT_KIND_RC_ACK && kind <= ADV_FAULT_KIND_XRC_NAK;
}

/* Returns the name of the kind; NULL if no packet is of this kind. */
static const char *kind_name(unsigned kind, char buffer[NAME_MAX_LEN])
{
	const char *from;
	size_t i;

	if (kind >= 256)
		return kind_names[kind - 256];
	from = adv_opcode_table[kind].name;
	if (!from || adv_fault_kind_of((uint8_t)kind, 0) != kind)
		return NULL;
	for (i = 0; from[i] && i < NAME_MAX_LEN - 1; i++) {
		if (from[i] == ' ' || from[i] == '_')
			buffer[i] = '-';
		else
			buffer[i] = (char)(from[i] | 0x20);
	}
	buffer[i] = 0;
	return buffer;
}

/* True if the name is equal to `full`, or is the beginning of `full` up to a hyphen. */
static bool is_prefix_of(const char *full, const char *name)
{
	size_t n = strlen(name);

	return strncmp(full, name, n) == 0 && (full[n] == 0 || full[n] == '-');
}

static const char *without_service(const char *full)
{
	static const char *const services[] = {"rc-", "uc-", "ud-", "xrc-"};

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(services); i++)
		if (strncmp(full, services[i], strlen(services[i])) == 0)
			return full + strlen(services[i]);
	return full;
}

static int find_group(const char *name)
{
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(groups); i++)
		if (strcmp(groups[i].name, name) == 0)
			return (int)i;
	return -1;
}

static bool in_group(unsigned kind, int group)
{
	uint16_t flags = groups[group].flags;

	if (flags == 0)
		return is_acknowledge(kind);
	if (is_acknowledge(kind))
		return flags == ADV_PKT_RESPONSE;
	return kind < 256 && (adv_opcode_table[kind].flags & flags) == flags;
}

static bool name_covers(const char *name, int group, unsigned kind)
{
	char buffer[NAME_MAX_LEN];
	const char *full = kind_name(kind, buffer);

	if (!full)
		return false;
	if (group >= 0)
		return in_group(kind, group);
	return is_prefix_of(full, name) || is_prefix_of(without_service(full), name);
}

static bool find_kinds_named(const char *name, struct adv_fault_kinds *set)
{
	int group = find_group(name);
	bool any = false;

	memset(set, 0, sizeof(*set));
	for (unsigned kind = 0; kind < ADV_FAULT_KINDS; kind++) {
		if (!name_covers(name, group, kind))
			continue;
		set->bit[kind / 64] |= 1ull << (kind % 64);
		any = true;
	}
	return any;
}

/* Appends one part of a name. False: the name is too long. */
static bool add_part(char *out, const char *part, size_t len)
{
	size_t have = strlen(out);

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(spellings); i++)
		if (strlen(spellings[i].other) == len &&
		    strncmp(spellings[i].other, part, len) == 0) {
			part = spellings[i].ours;
			len = strlen(part);
			break;
		}
	if (len == 0)
		return true;
	if (have + 1 + len >= NAME_MAX_LEN)
		return false;
	if (have)
		out[have++] = '-';
	memcpy(out + have, part, len);
	out[have + len] = 0;
	return true;
}

/* Converts a name to lower case, hyphens and the spelling of this file. False: no name has this
 * form. */
static bool normalise_name(const char *name, size_t len, char out[NAME_MAX_LEN])
{
	char lower[NAME_MAX_LEN];
	size_t start = 0;

	if (len == 0 || len >= sizeof(lower))
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		lower[i] = c == '_' ? '-' : c;
	}
	out[0] = 0;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && lower[i] != '-')
			continue;
		if (!add_part(out, lower + start, i - start))
			return false;
		start = i + 1;
	}
	return out[0] != 0;
}

bool adv_fault_kinds_add(struct adv_fault_kinds *set, const char *name, size_t len)
{
	struct adv_fault_kinds more;
	char normal[NAME_MAX_LEN];

	if (!normalise_name(name, len, normal) || !find_kinds_named(normal, &more))
		return false;
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(set->bit); i++)
		set->bit[i] |= more.bit[i];
	return true;
}

/* ---- printing ---- */

struct printing {
	char *out;
	size_t room;
	size_t len;
	const struct adv_fault_kinds *wanted;
	struct adv_fault_kinds done;
};

/* Prints the name if all its kinds are in the set, and some of them are not printed yet. */
static void print_name_if_fit(struct printing *p, const char *name)
{
	struct adv_fault_kinds set;
	bool is_new = false;

	if (!find_kinds_named(name, &set))
		return;
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(set.bit); i++) {
		if (set.bit[i] & ~p->wanted->bit[i])
			return;
		is_new = is_new || (set.bit[i] & ~p->done.bit[i]);
	}
	if (!is_new)
		return;
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(set.bit); i++)
		p->done.bit[i] |= set.bit[i];
	p->len += (size_t)snprintf(p->len < p->room ? p->out + p->len : NULL,
				   p->len < p->room ? p->room - p->len : 0, "%s%s",
				   p->len ? "," : "", name);
}

size_t adv_fault_kinds_print(const struct adv_fault_kinds *set, char *out, size_t room)
{
	struct printing p = {.out = out, .room = room, .wanted = set};
	char buffer[NAME_MAX_LEN];

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(summaries); i++)
		print_name_if_fit(&p, summaries[i]);
	for (unsigned kind = 0; kind < ADV_FAULT_KINDS; kind++) {
		const char *full = adv_fault_kinds_has(set, kind) ? kind_name(kind, buffer) : NULL;

		if (!full)
			continue;
		print_name_if_fit(&p, without_service(full));
		print_name_if_fit(&p, full);
	}
	return p.len;
}
