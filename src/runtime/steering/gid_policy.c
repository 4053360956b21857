/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/steering/gid_policy.h"

#include <linux/if_addr.h>
#include <net/if.h>
#include <stdlib.h>

/* iboe_get_mtu() of the kernel: GRH 40, UDP 8, BTH 12, XRCETH 4, AtomicETH 28, ICRC 4. */
#define ROCE_HEADERS 96

enum kind { KIND_IPV4, KIND_IPV6, KIND_LINK_LOCAL };

/* A candidate for the table, with its sort keys. */
struct candidate {
	const struct adv_snapshot_interface *interface;
	const struct adv_snapshot_address *address;
	bool loopback;
	bool isolated; /* its interface has link-local addresses only */
	enum kind kind;
	bool placed;
};

uint32_t adv_gid_policy_mtu(uint32_t if_mtu)
{
	for (uint32_t mtu = 4096; mtu >= 256; mtu /= 2)
		if (if_mtu >= mtu + ROCE_HEADERS)
			return mtu;
	return 0;
}

static enum kind kind_of(const struct adv_gid *g)
{
	if (adv_gid_is_ipv4(g))
		return KIND_IPV4;
	return g->raw[0] == 0xfe && (g->raw[1] & 0xc0) == 0x80 ? KIND_LINK_LOCAL : KIND_IPV6;
}

static const struct adv_snapshot_interface *find_interface(const struct adv_snapshot *s,
							   uint32_t ifindex)
{
	for (unsigned i = 0; i < s->interface_count; i++)
		if (s->interface[i].ifindex == ifindex)
			return &s->interface[i];
	return NULL;
}

static bool is_usable(const struct adv_snapshot_interface *i, const struct adv_snapshot_address *a)
{
	const uint32_t running = IFF_UP | IFF_RUNNING;

	return i && (i->flags & running) == running && adv_gid_policy_mtu(i->mtu) != 0 &&
	       !(a->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED));
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->loopback != b->loopback)
		return a->loopback ? 1 : -1;
	if (a->isolated != b->isolated)
		return a->isolated ? 1 : -1;
	if (a->interface->ifindex != b->interface->ifindex)
		return a->interface->ifindex < b->interface->ifindex ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static void mark_isolated(struct candidate *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		c[i].isolated = true;
		for (unsigned j = 0; j < n && c[i].isolated; j++)
			if (c[j].interface == c[i].interface && c[j].kind != KIND_LINK_LOCAL)
				c[i].isolated = false;
	}
}

static unsigned choose_candidates(const struct adv_snapshot *s, struct candidate *c)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->address_count; i++) {
		const struct adv_snapshot_address *a = &s->address[i];
		const struct adv_snapshot_interface *interface = find_interface(s, a->ifindex);

		if (!is_usable(interface, a))
			continue;
		c[n++] = (struct candidate){.interface = interface,
					    .address = a,
					    .loopback = (interface->flags & IFF_LOOPBACK) != 0,
					    .kind = kind_of(&a->gid)};
	}
	mark_isolated(c, n);
	qsort(c, n, sizeof(*c), compare_candidates);
	return n;
}

static void add_entry(struct adv_gid_table *t, struct candidate *c)
{
	struct adv_gid_entry *e;

	c->placed = true;
	if (t->count == ADV_GID_TABLE_ENTRIES)
		return;
	e = &t->entry[t->count++];
	memset(e, 0, sizeof(*e));
	e->gid = c->address->gid;
	e->ifindex = c->interface->ifindex;
	e->if_mtu = c->interface->mtu;
	e->path_mtu = adv_gid_policy_mtu(c->interface->mtu);
	e->speed_mbps = c->interface->speed_mbps;
	e->type = ADV_GID_ROCE_V2;
	e->loopback = c->loopback;
	memcpy(e->mac, c->interface->mac, sizeof(e->mac));
	memcpy(e->ifname, c->interface->name, sizeof(e->ifname));
}

static struct candidate *find_candidate(struct candidate *c, unsigned n,
					const struct adv_gid_entry *e)
{
	for (unsigned i = 0; i < n; i++)
		if (!c[i].placed && c[i].interface->ifindex == e->ifindex &&
		    adv_gid_equal(&c[i].address->gid, &e->gid))
			return &c[i];
	return NULL;
}

/* Fills the table: first with the candidates in *old, in the order of *old, then with the new ones.
 */
static void fill_table(struct candidate *c, unsigned n, const struct adv_gid_table *old,
		       struct adv_gid_table *out)
{
	out->count = 0;
	for (unsigned i = 0; i < n; i++)
		c[i].placed = false;
	for (unsigned i = 0; old && i < old->count; i++) {
		struct candidate *known = find_candidate(c, n, &old->entry[i]);

		if (known)
			add_entry(out, known);
	}
	for (unsigned i = 0; i < n; i++)
		if (!c[i].placed)
			add_entry(out, &c[i]);
}

/* True if another candidate should be entry 0, which most programs use: the entry is a loopback or
 * link-local address, and is there only because it is older than a better address. */
static bool is_poor_first(const struct adv_gid_entry *e, const struct candidate *best)
{
	return e->loopback != best->loopback ||
	       (kind_of(&e->gid) == KIND_LINK_LOCAL && best->kind != KIND_LINK_LOCAL);
}

void adv_gid_policy_fill(const struct adv_snapshot *s, const struct adv_gid_table *old,
			 struct adv_gid_table *out)
{
	struct candidate *c = calloc(ADV_SNAPSHOT_ADDRESSES, sizeof(*c));
	unsigned n = c ? choose_candidates(s, c) : 0;

	fill_table(c, n, old, out);
	if (out->count && is_poor_first(&out->entry[0], &c[0]))
		fill_table(c, n, NULL, out);
	memset(&out->entry[out->count], 0,
	       (ADV_GID_TABLE_ENTRIES - out->count) * sizeof(out->entry[0]));
	out->port_active = out->count != 0;
	out->active_mtu = out->count ? out->entry[0].path_mtu : 0;
	free(c);
}

static uint64_t mix_bits(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t adv_gid_policy_guid(const struct adv_snapshot *s, uint64_t seed)
{
	const struct adv_snapshot_interface *first = NULL;
	uint8_t raw[8];
	uint64_t guid;

	for (unsigned i = 0; i < s->interface_count; i++) {
		const struct adv_snapshot_interface *f = &s->interface[i];

		if (f->has_mac && !(f->flags & IFF_LOOPBACK) &&
		    (!first || f->ifindex < first->ifindex))
			first = f;
	}
	if (first) {
		const uint8_t *m = first->mac;
		const uint8_t eui[8] = {m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]};

		memcpy(raw, eui, sizeof(raw));
	} else {
		guid = mix_bits(seed + 0x9e3779b97f4a7c15u);
		memcpy(raw, &guid, sizeof(raw));
		raw[0] = (raw[0] & 0xfc) | 2; /* locally administered, not a group */
	}
	memcpy(&guid, raw, sizeof(guid));
	return guid ? guid : 2;
}
