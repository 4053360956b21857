/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smbdirect/connection.h"

#include <string.h>

#include "base/number.h"

enum {
	/* A peer that has used its credits for messages without data gets new ones after this time.
	 * If they were granted at once, two ends that both want few credits would exchange such
	 * messages without end. */
	GRANT_DELAY_MS = 10,
	CREDITS_MAX = 65535,
};

static enum adv_smbd_event break_connection(struct adv_smbd *c, const char *reason)
{
	c->state = ADV_SMBD_FAILED;
	c->reason = reason;
	c->deadline = c->grant_at = ADV_SMBD_NEVER;
	return ADV_SMBD_BROKEN;
}

void adv_smbd_init(struct adv_smbd *c, const struct adv_smbd_config *config, uint64_t now)
{
	memset(c, 0, sizeof(*c));
	c->config = *config;
	c->send_size = config->send_size;
	c->read_write_size = config->read_write_size;
	c->negotiation_due = !config->accepts;
	c->deadline = now + config->negotiate_ms;
	c->grant_at = ADV_SMBD_NEVER;
}

/* --- negotiation --- */

/* The peer wants `credits` of receives. */
static void set_goal(struct adv_smbd *c, uint16_t credits)
{
	c->goal = credits < c->config.receive_credits ? credits : c->config.receive_credits;
}

static void set_ready(struct adv_smbd *c, uint64_t now)
{
	c->state = ADV_SMBD_READY;
	c->deadline = now + c->config.keepalive_ms;
}

/* MS-SMBD, section 3.1.5.6 */
static enum adv_smbd_event receive_request(struct adv_smbd *c, const uint8_t *message,
					   size_t length, uint64_t now)
{
	struct adv_smbd_request r;

	if (c->negotiation_due || !adv_smbd_request_decode(message, length, &r))
		return break_connection(c, "its negotiate request is too short");
	c->negotiation_due = true;
	if (r.min_version > ADV_SMBD_VERSION || r.max_version < ADV_SMBD_VERSION) {
		c->refusal = ADV_SMBD_NOT_SUPPORTED;
		return ADV_SMBD_NOTHING;
	}
	if (r.credits_requested == 0 || r.receive_size < ADV_SMBD_RECEIVE_LEAST ||
	    r.fragmented_size < ADV_SMBD_FRAGMENTED_LEAST)
		return break_connection(c, "its negotiate request asks for too little");
	set_goal(c, r.credits_requested);
	c->send_size = (uint32_t)adv_number_min(c->send_size, r.receive_size);
	c->fragmented_size = r.fragmented_size;
	set_ready(c, now);
	return ADV_SMBD_NEGOTIATED;
}

/* MS-SMBD, section 3.1.5.7 */
static enum adv_smbd_event receive_response(struct adv_smbd *c, const uint8_t *message,
					    size_t length, uint64_t now)
{
	struct adv_smbd_response r;

	if (c->negotiation_due || !adv_smbd_response_decode(message, length, &r))
		return break_connection(c, "its negotiate response is too short");
	if (r.status != ADV_SMBD_SUCCESS || r.version != ADV_SMBD_VERSION)
		return break_connection(c, "it does not support version 1.0");
	if (r.receive_size < ADV_SMBD_RECEIVE_LEAST ||
	    r.fragmented_size < ADV_SMBD_FRAGMENTED_LEAST || r.credits_granted == 0 ||
	    r.credits_requested == 0 || r.send_size > c->config.receive_size)
		return break_connection(c, "its negotiate response is wrong");
	set_goal(c, r.credits_requested);
	c->send_size = (uint32_t)adv_number_min(c->send_size, r.receive_size);
	c->fragmented_size = r.fragmented_size;
	c->read_write_size = (uint32_t)adv_number_min(c->read_write_size, r.read_write_size);
	c->send_credits = r.credits_granted;
	set_ready(c, now);
	return ADV_SMBD_NEGOTIATED;
}

/* Returns how many credits can be granted now. */
static uint32_t grantable_credits(const struct adv_smbd *c)
{
	uint32_t available = c->config.receive_credits - c->granted - c->held;

	return c->granted < c->goal ? (uint32_t)adv_number_min(available, c->goal - c->granted) : 0;
}

static void next_request(struct adv_smbd *c, struct adv_smbd_send *out)
{
	const struct adv_smbd_request r = {
		.min_version = ADV_SMBD_VERSION,
		.max_version = ADV_SMBD_VERSION,
		.credits_requested = c->config.send_credits,
		.send_size = c->config.send_size,
		.receive_size = c->config.receive_size,
		.fragmented_size = c->config.fragmented_size,
	};

	adv_smbd_request_encode(&r, out->head);
	out->head_length = ADV_SMBD_REQUEST_LEN;
}

static void next_response(struct adv_smbd *c, struct adv_smbd_send *out)
{
	struct adv_smbd_response r = {
		.min_version = ADV_SMBD_VERSION,
		.max_version = ADV_SMBD_VERSION,
		.status = c->refusal,
	};

	if (!c->refusal) {
		r.version = ADV_SMBD_VERSION;
		r.credits_requested = c->config.send_credits;
		r.credits_granted = (uint16_t)grantable_credits(c);
		r.read_write_size = c->config.read_write_size;
		r.send_size = c->send_size;
		r.receive_size = c->config.receive_size;
		r.fragmented_size = c->config.fragmented_size;
		c->granted = r.credits_granted;
	}
	adv_smbd_response_encode(&r, out->head);
	out->head_length = ADV_SMBD_RESPONSE_LEN;
	if (c->refusal)
		break_connection(c, "it does not support version 1.0");
}

/* --- receiving --- */

/* Considers what new credits the peer needs, after something has changed. A peer with one credit
 * cannot send: the last one is for a message that grants credits. */
static void consider_grant(struct adv_smbd *c, uint64_t now)
{
	uint32_t n = grantable_credits(c);

	if (n == 0 || (c->granted > 1 && n < (c->goal + 1u) / 2))
		return;
	if (c->data_since)
		c->grant_now = true;
	else if (c->grant_at == ADV_SMBD_NEVER)
		c->grant_at = now + GRANT_DELAY_MS;
}

/* Takes a fragment. False: it does not continue the message. */
static bool take_fragment(struct adv_smbd *c, const uint8_t *message,
			  const struct adv_smbd_transfer *t, struct adv_smbd_fragment *fragment)
{
	uint64_t end = (uint64_t)c->in_received + t->length + t->remaining;

	if (c->in_received == 0 && end <= c->config.fragmented_size)
		c->in_length = (uint32_t)end;
	if (end != c->in_length)
		return false;
	*fragment = (struct adv_smbd_fragment){
		.data = message + t->offset,
		.length = t->length,
		.offset = c->in_received,
		.total = c->in_length,
	};
	c->in_received += t->length;
	if (t->remaining == 0)
		c->in_received = c->in_length = 0;
	c->data_since = true;
	return true;
}

/* MS-SMBD, section 3.1.5.8 */
static enum adv_smbd_event receive_transfer(struct adv_smbd *c, const uint8_t *message,
					    size_t length, uint64_t now,
					    struct adv_smbd_fragment *fragment)
{
	struct adv_smbd_transfer t;

	if (!adv_smbd_transfer_decode(message, length, &t))
		return break_connection(c, "the data of a message is not in it");
	if (c->granted == 0)
		return break_connection(c, "it sent more messages than it had credits");
	if (t.credits_requested == 0)
		return break_connection(c, "it requests no credit");
	if (t.length == 0 && t.remaining != 0)
		return break_connection(c, "a fragment has no data");
	c->granted--;
	c->held++;
	c->send_credits =
		(uint32_t)adv_number_min(c->send_credits + t.credits_granted, CREDITS_MAX);
	set_goal(c, t.credits_requested);
	c->deadline = now + c->config.keepalive_ms;
	c->asked = c->ask = false;
	if (t.flags & ADV_SMBD_RESPONSE_REQUESTED)
		c->respond = true;
	if (t.length > 0 && !take_fragment(c, message, &t, fragment))
		return break_connection(c, "the lengths of its fragments are wrong");
	consider_grant(c, now);
	return t.length > 0 ? ADV_SMBD_FRAGMENT : ADV_SMBD_NOTHING;
}

enum adv_smbd_event adv_smbd_receive(struct adv_smbd *c, const uint8_t *message, size_t length,
				     uint64_t now, struct adv_smbd_fragment *fragment)
{
	switch (c->state) {
	case ADV_SMBD_READY:
		return receive_transfer(c, message, length, now, fragment);
	case ADV_SMBD_NEGOTIATING:
		return c->config.accepts ? receive_request(c, message, length, now)
					 : receive_response(c, message, length, now);
	default:
		return ADV_SMBD_BROKEN;
	}
}

void adv_smbd_reposted(struct adv_smbd *c, uint64_t now)
{
	if (c->held == 0) /* it was that of the negotiation */
		return;
	c->held--;
	if (c->state == ADV_SMBD_READY)
		consider_grant(c, now);
}

/* --- sending --- */

bool adv_smbd_can_begin(const struct adv_smbd *c)
{
	return c->state == ADV_SMBD_READY && c->out_sent == c->out_length;
}

bool adv_smbd_begin(struct adv_smbd *c, size_t length)
{
	if (length == 0 || length > c->fragmented_size)
		return false;
	c->out_length = (uint32_t)length;
	c->out_sent = 0;
	return true;
}

/* Fills in a data transfer message, with as much data as fits. */
static void next_transfer(struct adv_smbd *c, uint32_t grant, struct adv_smbd_send *out)
{
	uint32_t left = c->out_length - c->out_sent;
	struct adv_smbd_transfer t = {
		.credits_requested = c->config.send_credits,
		.credits_granted = (uint16_t)grant,
		.flags = c->ask ? ADV_SMBD_RESPONSE_REQUESTED : 0,
		.length = (uint32_t)adv_number_min(left, c->send_size - ADV_SMBD_DATA_OFFSET),
	};

	if (t.length > 0) {
		t.offset = ADV_SMBD_DATA_OFFSET;
		t.remaining = left - t.length;
		out->last = t.remaining == 0;
	}
	out->offset = c->out_sent;
	out->length = t.length;
	out->head_length = (uint32_t)adv_smbd_transfer_encode(&t, out->head);
	c->out_sent += t.length;
}

bool adv_smbd_next(struct adv_smbd *c, struct adv_smbd_send *out)
{
	uint32_t grant;

	if (c->state == ADV_SMBD_FAILED)
		return false;
	memset(out, 0, sizeof(*out));
	if (c->negotiation_due) {
		c->negotiation_due = false;
		if (c->config.accepts)
			next_response(c, out);
		else
			next_request(c, out);
		return true;
	}
	if (c->state != ADV_SMBD_READY)
		return false;
	grant = grantable_credits(c);
	if (c->out_sent == c->out_length && !c->respond && !c->ask && !(c->grant_now && grant > 0))
		return false;
	/* The last credit is for a message that grants credits: otherwise both ends could have
	 * none. */
	if (c->send_credits == 0 || (c->send_credits == 1 && grant == 0))
		return false;
	next_transfer(c, grant, out);
	c->send_credits--;
	c->granted += grant;
	c->respond = c->ask = false;
	if (grant > 0) {
		c->grant_now = c->data_since = false;
		c->grant_at = ADV_SMBD_NEVER;
	}
	return true;
}

/* --- time --- */

uint64_t adv_smbd_deadline(const struct adv_smbd *c)
{
	return c->deadline < c->grant_at ? c->deadline : c->grant_at;
}

void adv_smbd_expire(struct adv_smbd *c, uint64_t now)
{
	if (now >= c->grant_at) {
		c->grant_now = true;
		c->grant_at = ADV_SMBD_NEVER;
	}
	if (now < c->deadline)
		return;
	if (c->state == ADV_SMBD_NEGOTIATING) {
		break_connection(c, "it did not negotiate in time");
	} else if (c->granted == 0 && c->held > 0) {
		/* Its messages wait here, and it has no credit to respond with. */
		c->deadline = now + c->config.keepalive_ms;
	} else if (c->asked) {
		break_connection(c, "it does not respond");
	} else {
		c->asked = c->ask = true;
		c->deadline = now + c->config.response_ms;
	}
}
