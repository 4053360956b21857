/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is the text of a fault plan. Checks that an error has a position in the text and one
 * line, that the printed text of an accepted plan gives the same plan, and that the plan decides on
 * any packet.
 */
#include <string.h>

#include "fuzz.h"
#include "nic/fault/name.h"
#include "nic/fault/decide.h"

static char text[ADV_FAULT_TEXT_MAX], out[512];

static void check_error(const struct adv_fault_error *error, const char *data, size_t size)
{
	FUZZ_CHECK(error->at <= size);
	FUZZ_CHECK(error->text[0] && strlen(error->text) < sizeof(error->text));
	FUZZ_CHECK(!strchr(error->text, '\n'));
	FUZZ_CHECK(adv_fault_error_print(error, data, size, out, sizeof(out)) < sizeof(out));
}

static void decide_on_packets(const struct adv_fault_plan *plan, const uint8_t *data, size_t size)
{
	static struct adv_fault_state state;
	struct adv_gid peer = {{0}};
	struct adv_fault_verdict v;
	struct adv_fault_packet p;
	uint8_t copy[256];
	uint32_t len;

	memcpy(peer.raw, data, size < 16 ? size : 16);
	adv_fault_begin(&state, plan, 0);
	for (unsigned i = 0; i < 8; i++) {
		adv_fault_packet_read(&p, i % 2, &peer, i / 2 % 4, data, size);
		if (!adv_fault_decide(&state, i * 300000000ull, &p, &v))
			continue;
		FUZZ_CHECK(v.copies <= ADV_FAULT_COPIES_MAX);
		len = (uint32_t)(size < sizeof(copy) ? size : sizeof(copy));
		memcpy(copy, data, len);
		if (v.corrupt)
			FUZZ_CHECK(adv_fault_alter(&v, copy, len, sizeof(copy)) <= sizeof(copy));
	}
}

/* Decides on work requests of all kinds. Checks that each injected value is one of a rule. */
static void decide_on_work(const struct adv_fault_plan *plan)
{
	static struct adv_fault_state state;

	adv_fault_begin(&state, plan, 0);
	for (unsigned i = 0; i < 24; i++) {
		struct adv_fault_work w = {ADV_FAULT_POST + i % 4, i / 4 % ADV_FAULT_QUEUES,
					   (uint8_t)(11 * i), i};
		uint64_t now = i * 300000000ull, due = adv_fault_device_due(&state, now);
		uint32_t value = adv_fault_decide_work(&state, now, &w);

		FUZZ_CHECK(due > now);
		FUZZ_CHECK(!value || w.action == ADV_FAULT_RNR || w.action == ADV_FAULT_TEAR ||
			   adv_fault_value_name(w.action, value));
	}
}

static unsigned count_event(void *user, const struct adv_fault_rule *r)
{
	unsigned *calls = user;

	FUZZ_CHECK(r->action == ADV_FAULT_EVENT && adv_fault_value_name(r->action, r->value));
	FUZZ_CHECK(!r->has_qpn || adv_fault_event_has_object(r->value));
	return ++*calls % 3;
}

/* Raises the plan's events. The device raises an event again until an object of it exists. */
static void raise_plan_events(const struct adv_fault_plan *plan)
{
	static struct adv_fault_state state;
	unsigned calls = 0;

	adv_fault_begin(&state, plan, 0);
	for (uint64_t now = 0; now < 8000000000ull; now += 300000000) {
		adv_fault_raise_events(&state, now, count_event, &calls);
		FUZZ_CHECK(adv_fault_device_due(&state, now) > now);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct adv_fault_plan plan, again;
	struct adv_fault_error error;
	size_t len;

	if (!adv_fault_plan_parse(&plan, (const char *)data, size, &error)) {
		check_error(&error, (const char *)data, size);
		return 0;
	}
	len = adv_fault_plan_print(&plan, text, sizeof(text));
	FUZZ_CHECK(len < sizeof(text) && strlen(text) == len);
	FUZZ_CHECK(adv_fault_plan_parse(&again, text, len, &error));
	FUZZ_CHECK(memcmp(&plan, &again, sizeof(plan)) == 0);
	FUZZ_CHECK(adv_fault_plan_print(&plan, NULL, 0) == len);
	decide_on_packets(&plan, data, size);
	decide_on_work(&plan);
	raise_plan_events(&plan);
	return 0;
}
