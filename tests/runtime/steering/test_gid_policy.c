/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The daemon's decisions for constructed input: the GID table, slots, the holder of a port, netlink
 * messages. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/rng.h"
#include "runtime/steering/gid_policy.h"
#include "runtime/steering/port_holder.h"
#include "runtime/steering/slots.h"
#include "runtime/steering/snapshot.h"

#define RUNNING (IFF_UP | IFF_RUNNING)

static struct adv_snapshot snapshot;
static struct adv_gid_table table, before;

static void reset(void)
{
	memset(&snapshot, 0, sizeof(snapshot));
	memset(&table, 0, sizeof(table));
	memset(&before, 0, sizeof(before));
}

static struct adv_snapshot_interface *add_interface(uint32_t ifindex, const char *name,
						    uint32_t flags, uint32_t mtu)
{
	struct adv_snapshot_interface *i = &snapshot.interface[snapshot.interface_count++];

	memset(i, 0, sizeof(*i));
	i->ifindex = ifindex;
	i->flags = flags;
	i->mtu = mtu;
	snprintf(i->name, sizeof(i->name), "%s", name);
	return i;
}

static void add_lo(void)
{
	add_interface(1, "lo", RUNNING | IFF_LOOPBACK, 65536);
}

static void add_address(uint32_t ifindex, const char *text, uint32_t flags)
{
	struct adv_snapshot_address *a = &snapshot.address[snapshot.address_count++];

	memset(a, 0, sizeof(*a));
	a->ifindex = ifindex;
	a->flags = flags;
	if (inet_pton(AF_INET, text, a->gid.raw + 12) == 1)
		a->gid.raw[10] = a->gid.raw[11] = 0xff;
	else
		assert_int_equal(inet_pton(AF_INET6, text, a->gid.raw), 1);
}

/* Compares the table with a list of addresses that ends with NULL. */
static void expect(const char *first, ...)
{
	va_list ap;
	uint32_t n = 0;

	va_start(ap, first);
	for (const char *want = first; want; want = va_arg(ap, const char *), n++) {
		const struct adv_gid *g = &table.entry[n].gid;
		char text[ADV_GID_TEXT_LENGTH];

		assert_true(n < table.count);
		assert_string_equal(adv_gid_text(g, text), want);
	}
	va_end(ap);
	assert_int_equal(table.count, n);
}

static void mtu_follows_the_kernels_rule(void **state)
{
	static const uint32_t cases[][2] = {
		{65536, 4096}, {9000, 4096},	   {4192, 4096}, {4191, 2048}, {2144, 2048},
		{2143, 1024},  {1500, 1024},	   {1400, 1024}, {1280, 1024}, {1120, 1024},
		{1119, 512},   {608, 512},	   {607, 256},	 {352, 256},   {351, 0},
		{0, 0},	       {UINT32_MAX, 4096},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(cases); i++)
		assert_int_equal(adv_gid_policy_mtu(cases[i][0]), cases[i][1]);
}

static void sorted_order(void **state)
{
	reset();
	add_lo();
	add_interface(5, "eth1", RUNNING, 1500);
	add_interface(2, "eth0", RUNNING, 9000);
	add_interface(3, "idle0", RUNNING, 1500);
	add_interface(4, "down0", IFF_UP, 1500);
	add_interface(6, "tiny0", RUNNING, 300);
	add_address(1, "127.0.0.1", 0);
	add_address(1, "::1", 0);
	add_address(5, "192.0.2.1", 0);
	add_address(3, "fe80::3", 0);
	add_address(2, "fe80::2", 0);
	add_address(2, "2001:db8::1", 0);
	add_address(2, "10.0.0.1", 0);
	add_address(2, "10.0.0.2", 0);
	add_address(4, "10.4.4.4", 0);
	add_address(6, "10.6.6.6", 0);
	add_address(2, "2001:db8::dad", IFA_F_TENTATIVE);
	add_address(2, "2001:db8::bad", IFA_F_DADFAILED);
	add_address(9, "10.9.9.9", 0); /* its interface disappeared between the two dumps */
	adv_gid_policy_fill(&snapshot, NULL, &table);
	/* An interface that has only link-local addresses comes after interfaces with other
	 * addresses. */
	expect("10.0.0.1", "10.0.0.2", "2001:db8::1", "fe80::2", "192.0.2.1", "fe80::3",
	       "127.0.0.1", "::1", NULL);
	assert_int_equal(table.port_active, 1);
	assert_int_equal(table.active_mtu, 4096);
	assert_int_equal(table.entry[4].path_mtu, 1024);
	assert_string_equal(table.entry[4].ifname, "eth1");
	assert_int_equal(table.entry[6].loopback, 1);
	assert_int_equal(table.entry[0].loopback, 0);
	assert_int_equal(table.entry[0].type, ADV_GID_ROCE_V2);
}

static void indices_stay(void **state)
{
	reset();
	add_lo();
	add_interface(2, "eth0", RUNNING, 1500);
	add_interface(3, "eth1", RUNNING, 1500);
	add_address(1, "127.0.0.1", 0);
	add_address(2, "10.0.0.1", 0);
	add_address(3, "10.1.0.1", 0);
	adv_gid_policy_fill(&snapshot, NULL, &table);
	expect("10.0.0.1", "10.1.0.1", "127.0.0.1", NULL);
	/* A new address of eth0 would sort before the address of eth1 and loopback, but follows. */
	before = table;
	add_address(2, "10.0.0.9", 0);
	adv_gid_policy_fill(&snapshot, &before, &table);
	expect("10.0.0.1", "10.1.0.1", "127.0.0.1", "10.0.0.9", NULL);
	/* A removed address leaves no gap. */
	before = table;
	snapshot.address[1] = snapshot.address[0];
	snapshot.address[0] = snapshot.address[--snapshot.address_count];
	adv_gid_policy_fill(&snapshot, &before, &table);
	expect("10.1.0.1", "127.0.0.1", "10.0.0.9", NULL);
	/* The table may be filled from itself. */
	adv_gid_policy_fill(&snapshot, &table, &before);
	assert_memory_equal(before.entry, table.entry, sizeof(table.entry));
}

static void poor_first_entry_yields(void **state)
{
	reset();
	add_lo();
	add_interface(2, "eth0", RUNNING, 1500);
	add_address(1, "127.0.0.1", 0);
	adv_gid_policy_fill(&snapshot, NULL, &before);
	add_address(2, "fe80::1", 0);
	adv_gid_policy_fill(&snapshot, &before, &table);
	expect("fe80::1", "127.0.0.1", NULL);
	before = table;
	add_address(2, "10.0.0.1", 0);
	adv_gid_policy_fill(&snapshot, &before, &table);
	expect("10.0.0.1", "fe80::1", "127.0.0.1", NULL);
}

static void one_address_on_two_interfaces(void **state)
{
	reset();
	add_interface(2, "eth0", RUNNING, 1500);
	add_interface(3, "eth1", RUNNING, 9000);
	add_address(3, "fe80::1", 0);
	add_address(2, "fe80::1", 0);
	adv_gid_policy_fill(&snapshot, NULL, &before);
	adv_gid_policy_fill(&snapshot, &before, &table);
	expect("fe80::1", "fe80::1", NULL);
	assert_int_equal(table.entry[0].ifindex, 2);
	assert_int_equal(table.entry[1].ifindex, 3);
}

static void no_address_no_port(void **state)
{
	reset();
	table.count = 7;
	add_lo();
	adv_gid_policy_fill(&snapshot, NULL, &table);
	assert_int_equal(table.count, 0);
	assert_int_equal(table.port_active, 0);
}

static void full_table(void **state)
{
	reset();
	add_interface(2, "eth0", RUNNING, 1500);
	for (int i = 0; i < ADV_SNAPSHOT_ADDRESSES; i++) {
		char text[32];

		snprintf(text, sizeof(text), "10.1.%d.%d", i / 200, i % 200 + 1);
		add_address(2, text, 0);
	}
	adv_gid_policy_fill(&snapshot, NULL, &table);
	assert_int_equal(table.count, ADV_GID_TABLE_ENTRIES);
}

static void guid(void **state)
{
	static const uint8_t eui[8] = {0x52, 0x54, 0x00, 0xff, 0xfe, 0x12, 0x34, 0x56};
	uint64_t a, b;
	uint8_t raw[8];
	struct adv_snapshot_interface *i;

	reset();
	add_lo();
	a = adv_gid_policy_guid(&snapshot, 1);
	b = adv_gid_policy_guid(&snapshot, 2);
	assert_true(a != b && a == adv_gid_policy_guid(&snapshot, 1));
	memcpy(raw, &a, 8);
	assert_int_equal(raw[0] & 3, 2);
	for (uint32_t n = 9; n >= 3; n -= 3) {
		i = add_interface(n, "eth", 0, 1500);
		i->has_mac = true;
		memcpy(i->mac, (uint8_t[6]){0x50, 0x54, 0x00, 0x12, 0x34, n == 3 ? 0x56 : 0x99}, 6);
	}
	a = adv_gid_policy_guid(&snapshot, 1);
	assert_memory_equal(&a, eui, 8);
}

/* ---- slots ---- */

static struct adv_ledger *new_ledger(unsigned sockets)
{
	struct adv_ledger *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->sockets = sockets;
	return l;
}

static void give_back(struct adv_ledger *l, unsigned slot, uid_t uid, uint64_t freed, uint64_t ms)
{
	l->slot[slot].owned = 0;
	l->slot[slot].used_before = true;
	l->slot[slot].uid = uid;
	l->slot[slot].freed = freed;
	l->slot[slot].freed_ms = ms;
}

static void slot_choice(void **state)
{
	struct adv_ledger *l = new_ledger(ADV_SLOT_FIRST);
	uint64_t now = 1000000;

	/* The first slot is made for the first client. */
	assert_int_equal(adv_slots_choose(l, 1000, ADV_SLOTS, ADV_SLOTS, now), ADV_SLOT_FIRST);
	l->sockets = 300;
	for (unsigned i = ADV_SLOT_FIRST; i < 300; i++)
		l->slot[i].owned = 1;
	assert_int_equal(adv_slots_choose(l, 1000, ADV_SLOTS, ADV_SLOTS, now), 300);
	assert_int_equal(adv_slots_choose(l, 1000, ADV_SLOTS, 300, now), 0);
	for (unsigned i = 10; i < 20; i++)
		give_back(l, i, i % 2 ? 1000 : 1001, 100 - i, now - ADV_REST_MS);
	/* The user's own slot that is free the longest. */
	assert_int_equal(adv_slots_choose(l, 1000, ADV_SLOTS, ADV_SLOTS, now), 19);
	assert_int_equal(adv_slots_choose(l, 1001, ADV_SLOTS, ADV_SLOTS, now), 18);
	assert_int_equal(adv_slots_choose(l, 0, ADV_SLOTS, 300, now), 0);
	/* Before slot 19 may be used again, a slot that was never used is chosen. */
	l->slot[200].owned = 0;
	assert_int_equal(adv_slots_choose(l, 1000, ADV_SLOTS, ADV_SLOTS, now), 19);
	assert_int_equal(adv_slots_choose(l, 1000, ADV_SLOTS, ADV_SLOTS, now - 1), 200);
	assert_int_equal(adv_slots_choose(l, 0, ADV_SLOTS, ADV_SLOTS, now), 200);
	/* A user who has had the maximum of slots gets slot 19. */
	assert_int_equal(adv_slots_choose(l, 1000, 6, ADV_SLOTS, now - 1), 200);
	assert_int_equal(adv_slots_choose(l, 1000, 5, ADV_SLOTS, now - 1), 19);
	assert_int_equal(adv_slots_choose(l, 0, 0, ADV_SLOTS, now), 0);
	free(l);
}

/* A user who starts one program after the other does not get a new socket for each. */
static void slots_rest(void **state)
{
	struct adv_ledger *l = new_ledger(ADV_SLOT_FIRST);
	uint64_t now = 1000000;

	for (unsigned i = 0; i < 1000; i++) {
		unsigned slot = adv_slots_choose(l, 1000, ADV_SLOTS, ADV_SLOTS, now);

		assert_true(slot >= ADV_SLOT_FIRST && slot <= l->sockets);
		if (slot == l->sockets)
			l->sockets++;
		else
			assert_true(now - l->slot[slot].freed_ms >= ADV_REST_LEAST);
		now += 500;
		give_back(l, slot, 1000, i + 1, now);
	}
	assert_int_equal(l->sockets, ADV_SLOT_FIRST + ADV_REST_SLOTS);
	free(l);
}

/* A new worker has the times of its predecessor, as they were when the keeper was forked. */
static void senders_resumed(void **state)
{
	struct adv_daemon *d = calloc(1, sizeof(*d));
	const unsigned kept = adv_qpn_prefix(adv_block_qpn(0)),
		       left = adv_qpn_prefix(adv_block_qpn(1));

	assert_non_null(d);
	d->senders = calloc(1, sizeof(*d->senders));
	assert_non_null(d->senders);
	d->ledger = new_ledger(8);
	d->sockets = 8;
	d->ledger->slot[3].owned = 1;
	d->ledger->block[0].slot = 3;
	d->senders->port[3] = d->senders->port[kept] = 40003;
	d->senders->port[4] = d->senders->port[left] = 40004;
	d->sender_until[3] = d->sender_until[ADV_SLOTS] = d->senders_at = 1; /* long ago */
	adv_slots_resume_senders(d);
	adv_slots_forget_senders(d, adv_clock_ms() + 2 * ADV_SENDER_MS);
	assert_int_equal(d->senders->port[3], 40003);
	assert_int_equal(d->senders->port[kept], 40003);
	assert_int_equal(d->senders->port[4], 0);
	assert_int_equal(d->senders->port[left], 0);
	assert_int_equal(d->senders_at, 0);
	free(d->ledger);
	free(d->senders);
	free(d);
}

static void block_choice(void **state)
{
	struct adv_ledger *l = new_ledger(10);

	assert_int_equal(adv_blocks_choose(l, 1000, ADV_BLOCKS), 0);
	for (unsigned i = 0; i < ADV_BLOCKS; i++)
		l->block[i].slot = 5;
	assert_int_equal(adv_blocks_choose(l, 1000, ADV_BLOCKS), -1);
	assert_int_equal(adv_blocks_used(l, 0), ADV_BLOCKS);
	assert_int_equal(adv_blocks_used(l, 4), 0);
	for (unsigned i = 10; i < 20; i++) {
		l->block[i].slot = 0;
		l->block[i].used_before = true;
		l->block[i].uid = i % 2 ? 1000 : 1001;
		l->block[i].freed = 100 - i;
	}
	assert_int_equal(adv_blocks_choose(l, 1000, ADV_BLOCKS), 19);
	assert_int_equal(adv_blocks_choose(l, 1001, ADV_BLOCKS), 18);
	assert_int_equal(adv_blocks_choose(l, 0, ADV_BLOCKS), -1);
	l->block[100].slot = 0;
	assert_int_equal(adv_blocks_choose(l, 1000, 6), 100);
	assert_int_equal(adv_blocks_choose(l, 1000, 5), 19);
	assert_int_equal(adv_blocks_choose(l, 0, 0), -1);
	free(l);
}

static void slot_tokens(void **state)
{
	struct adv_ledger *l = new_ledger(200);
	uint8_t token[ADV_CONTROL_TOKEN_LEN];

	memset(token, 0x5a, sizeof(token));
	memcpy(l->slot[7].token, token, sizeof(token));
	assert_false(adv_slots_token_fits(l, 7, token));
	l->slot[7].owned = 1;
	assert_true(adv_slots_token_fits(l, 7, token));
	token[15] ^= 1;
	assert_false(adv_slots_token_fits(l, 7, token));
	l->slot[0].owned = 1;
	memset(token, 0, sizeof(token));
	assert_false(adv_slots_token_fits(l, 0, token));
	l->slot[200].owned = 1;
	assert_false(adv_slots_token_fits(l, 200, token));
	assert_false(adv_slots_token_fits(l, ADV_SLOTS, token));
	assert_false(adv_slots_token_fits(l, UINT32_MAX, token));
	free(l);
}

/* ---- the port's holder ---- */

static void port_lines(void **state)
{
	struct adv_port_holder h;

	assert_true(adv_port_holder_parse(
		"  123: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  "
		"1000        0 98765 2 0000000000000000 0\n",
		4791, &h));
	assert_int_equal(h.inode, 98765);
	assert_int_equal(h.uid, 1000);
	assert_true(adv_port_holder_parse(
		"   57: 00000000000000000000000000000000:12B7 "
		"00000000000000000000000000000000:0000 "
		"07 00000000:00000000 00:00000000 00000000     0        0 0 2 0000000000000000 0\n",
		4791, &h));
	assert_int_equal(h.inode, 0);
	assert_false(adv_port_holder_parse(
		"  123: 00000000:12B8 00000000:0000 07 00000000:00000000 00:00000000 00000000  "
		"1000        0 98765 2 0000000000000000 0\n",
		4791, &h));
	assert_false(
		adv_port_holder_parse("   sl  local_address rem_address   st tx_queue", 4791, &h));
	assert_false(adv_port_holder_parse("", 4791, &h));
}

/* ---- netlink ---- */

/* Messages of a dump with wrong lengths do no harm. */
static void hostile_netlink(void **state)
{
	static const uint16_t types[] = {RTM_NEWLINK, RTM_NEWADDR, NLMSG_DONE, NLMSG_ERROR, 99};
	struct adv_rng dice;

	adv_rng_seed(&dice, 4791);
	for (int round = 0; round < 100000; round++) {
		size_t len = adv_rng_below(&dice, 200);
		uint32_t *p =
			/* Block of the exact size, so that the sanitizer detects a read beyond
			 * its end. */
			malloc(len + 4);
		struct nlmsghdr *h = (void *)p;
		int error;

		for (size_t i = 0; i < len / 4 + 1; i++)
			p[i] = (uint32_t)(adv_rng_next(&dice) & adv_rng_next(&dice) & 0x00ff00ff);
		if (len >= sizeof(*h)) {
			h->nlmsg_len = (uint32_t)adv_rng_below(&dice, len + 8);
			h->nlmsg_type = types[adv_rng_below(&dice, 5)];
		}
		snapshot.interface_count = snapshot.address_count = 0;
		adv_snapshot_parse(&snapshot, p, len, &error);
		assert_true(snapshot.interface_count <= len && snapshot.address_count <= len);
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mtu_follows_the_kernels_rule),
		cmocka_unit_test(sorted_order),
		cmocka_unit_test(indices_stay),
		cmocka_unit_test(poor_first_entry_yields),
		cmocka_unit_test(one_address_on_two_interfaces),
		cmocka_unit_test(no_address_no_port),
		cmocka_unit_test(full_table),
		cmocka_unit_test(guid),
		cmocka_unit_test(slot_choice),
		cmocka_unit_test(slots_rest),
		cmocka_unit_test(senders_resumed),
		cmocka_unit_test(block_choice),
		cmocka_unit_test(slot_tokens),
		cmocka_unit_test(port_lines),
		cmocka_unit_test(hostile_netlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
