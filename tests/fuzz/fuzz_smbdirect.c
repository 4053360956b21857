/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The input is what a peer of an SMB Direct connection sends, and when: each step is a byte with
 * the kind, and for a message a byte with its length and the message. The first byte of the input
 * chooses the end and its limits. Checks that fragments are inside the message and continue each
 * other, and that what is sent keeps to what the peer receives.
 */
#include <string.h>

#include "fuzz.h"
#include "storage/smbdirect/connection.h"

enum { LONGEST = 140000, LEAST_SEND = 128 };

static struct adv_smbd c;
static uint64_t now;
static uint32_t total, arrived; /* of the message that is reassembled */
static uint32_t unposted;
static bool sending;

static void start(uint8_t how)
{
	struct adv_smbd_config config = {
		.accepts = how & 1,
		.receive_credits = (uint16_t)(1 + (how >> 4)),
		.send_credits = 4,
		.send_size = LEAST_SEND + (how & 14) * 100u,
		.receive_size = 1024,
		.fragmented_size = LONGEST,
		.read_write_size = 1 << 20,
		.negotiate_ms = 100,
		.keepalive_ms = 1000,
		.response_ms = 100,
	};

	now = total = arrived = unposted = 0;
	sending = false;
	adv_smbd_init(&c, &config, now);
}

static void check_fragment(const struct adv_smbd_fragment *f, const uint8_t *message, size_t length)
{
	FUZZ_CHECK(f->length > 0 && f->data >= message && f->data + f->length <= message + length);
	FUZZ_CHECK(f->offset == arrived && f->total <= LONGEST);
	FUZZ_CHECK(arrived == 0 || f->total == total);
	total = f->total;
	arrived += f->length;
	FUZZ_CHECK(arrived <= total);
	if (arrived == total)
		arrived = 0;
}

static size_t receive(const uint8_t *in, size_t size)
{
	struct adv_smbd_fragment f;
	size_t length = in[0] < size ? in[0] : size - 1;
	bool ready = c.state == ADV_SMBD_READY;

	if (adv_smbd_receive(&c, in + 1, length, now, &f) == ADV_SMBD_FRAGMENT)
		check_fragment(&f, in + 1, length);
	unposted += ready && c.state == ADV_SMBD_READY;
	FUZZ_CHECK(c.granted + c.held <= c.config.receive_credits);
	return length + 1;
}

static void send_all(void)
{
	struct adv_smbd_send s;
	int most =
		2 * LONGEST / (LEAST_SEND - ADV_SMBD_DATA_OFFSET); /* more than a message needs */

	while (most-- > 0 && adv_smbd_next(&c, &s)) {
		FUZZ_CHECK(s.head_length + s.length <= (s.length ? c.send_size : sizeof(s.head)));
		FUZZ_CHECK(s.offset + s.length <= LONGEST);
		FUZZ_CHECK(!s.length || sending);
		if (s.last)
			sending = false;
		FUZZ_CHECK(c.granted + c.held <= c.config.receive_credits);
	}
	FUZZ_CHECK(most > 0);
}

/* Executes a step at in[0], which is followed by size - 1 bytes. Returns its length. */
static size_t step(const uint8_t *in, size_t size)
{
	switch (in[0] & 7) {
	case 0:
	case 1:
		return size > 1 ? 1 + receive(in + 1, size - 1) : 1;
	case 2:
		adv_smbd_reposted(&c, now);
		unposted -= unposted > 0;
		break;
	case 3:
		if (adv_smbd_can_begin(&c) && adv_smbd_begin(&c, (size_t)in[0] * 500))
			sending = true;
		break;
	case 4:
		now += in[0];
		break;
	case 5:
		if (adv_smbd_deadline(&c) != ADV_SMBD_NEVER && adv_smbd_deadline(&c) > now)
			now = adv_smbd_deadline(&c);
		break;
	case 6:
		adv_smbd_expire(&c, now);
		break;
	default:
		send_all();
		break;
	}
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	start(data[0]);
	for (size_t at = 1; at < size;)
		at += step(data + at, size - at);
	return 0;
}
