/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "seen.h"

#include "../nvme_target/harness.h"
#include "base/bytes.h"

static void see_command(struct seen *s, const uint8_t *data, size_t len)
{
	uint8_t again[ADV_NVME_COMMAND_LEN];
	struct adv_nvme_command c;
	struct adv_nvme_connect connect;

	assert_true(adv_nvme_command_decode(data, len, &c));
	adv_nvme_command_encode(&c, again);
	assert_memory_equal(again, data, sizeof(again));
	assert_int_equal(c.psdt, 1);
	s->commands++;
	if (c.sgl.id == ADV_NVME_SGL_OFFSET) {
		assert_int_equal(c.sgl.length, len - ADV_NVME_COMMAND_LEN);
		s->in_capsule++;
	}
	if (c.opcode == ADV_NVME_OPCODE_FABRICS && c.fabrics_type == ADV_NVME_CONNECT) {
		adv_nvme_connect_decode(&c, &connect);
		assert_int_equal(connect.qid, s->last_qid);
		assert_int_equal(c.sgl.length, ADV_NVME_CONNECT_LEN);
		s->connects++;
	} else if (c.opcode == ADV_NVME_OPCODE_FABRICS) {
		s->properties++;
	} else if (c.opcode == ADV_NVME_IDENTIFY && c.sgl.length == ADV_NVME_IDENTIFY_LEN) {
		s->identifies++;
	} else if (c.opcode == ADV_NVME_WRITE) {
		s->writes++;
	}
}

static void see_completion(struct seen *s, const uint8_t *data, size_t len)
{
	struct adv_nvme_completion c;
	uint8_t again[ADV_NVME_COMPLETION_LEN];

	assert_true(adv_nvme_completion_decode(data, len, &c));
	adv_nvme_completion_encode(&c, again);
	assert_memory_equal(again, data, sizeof(again));
	s->completions++;
	if (c.status != ADV_NVME_SUCCESS) {
		assert_string_not_equal(adv_nvme_status_name(c.status), "unknown status");
		s->failed++;
	}
}

void seen_request(struct seen *s, const uint8_t *data, size_t len)
{
	struct adv_nvme_cm_request request;

	assert_int_equal(adv_nvme_cm_request_decode(data, len, &request), ADV_NVME_CM_OK);
	assert_int_equal(request.hrqsize, request.hsqsize + 1);
	assert_int_equal(request.hrqsize, request.qid ? 16 : 32);
	s->last_qid = request.qid;
	s->requests++;
}

void seen_reply(struct seen *s, const uint8_t *data, size_t len)
{
	uint16_t crqsize;

	assert_true(adv_nvme_cm_accept_decode(data, len, &crqsize));
	assert_true(crqsize >= 16);
	s->replies++;
}

void seen_send(struct seen *s, bool to_target, const uint8_t *data, size_t len, bool first,
	       bool last)
{
	if (first)
		s->len[to_target] = 0;
	assert_true(s->len[to_target] + len <= SEEN_MESSAGE_MAX);
	memcpy(s->message[to_target] + s->len[to_target], data, len);
	s->len[to_target] += len;
	if (!last)
		return;
	if (to_target)
		see_command(s, s->message[1], s->len[1]);
	else
		see_completion(s, s->message[0], s->len[0]);
}

void seen_check(const struct seen *s)
{
	/* Two admin queues (discovery, then the subsystem) and one I/O queue. */
	assert_int_equal(s->requests, 3);
	assert_int_equal(s->replies, 3);
	assert_int_equal(s->connects, 3);
	assert_int_equal(s->writes, 6);
	/* Connect of the I/O queue, 512 bytes, four times 4,096 */
	assert_int_equal(s->in_capsule, 6);
	assert_true(s->identifies > 5 && s->properties > 10 && s->invalidated > 20);
	/* The asynchronous event request is never answered. */
	assert_true(s->completions < s->commands);
	assert_true(s->completions + 3 > s->commands);
}
