/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smb_gateway/stats.h"

#include "storage/smb2/message.h"

enum { CANCEL = 12 }; /* the command that has no response, and another request's message id */
#define MORE_PROCESSING 0xc0000016u /* of SESSION_SETUP: no error */
#define SEVERITY_ERROR	0xc0000000u

void adv_smb_count_request(struct adv_smb_times *t, struct adv_gateway_counts *c,
			   const uint8_t *message, size_t length, uint64_t now)
{
	struct adv_smb2_element e;
	size_t offset = 0;

	while (adv_smb2_element_at(message, length, offset, &e)) {
		if (e.command != CANCEL) {
			t->at[e.message_id % ADV_SMB_TIMES].id = e.message_id;
			t->at[e.message_id % ADV_SMB_TIMES].begun = now;
		}
		if (e.last)
			return;
		offset = e.offset + e.length;
	}
	/* It is encrypted or compressed: its response will not be known. */
	if (offset == 0)
		c->calls++;
}

static void count_element(struct adv_smb_times *t, struct adv_gateway_counts *c,
			  const struct adv_smb2_element *e, uint64_t now)
{
	unsigned i = e->message_id % ADV_SMB_TIMES;

	/* The final response follows an interim one. */
	if (e->status == ADV_SMB2_STATUS_PENDING || t->at[i].begun == 0 ||
	    t->at[i].id != e->message_id)
		return;
	adv_gateway_count_answer(c, t->at[i].begun, now,
				 (e->status & SEVERITY_ERROR) == SEVERITY_ERROR &&
					 e->status != MORE_PROCESSING);
	t->at[i].begun = 0;
}

void adv_smb_count_response(struct adv_smb_times *t, struct adv_gateway_counts *c,
			    const uint8_t *message, size_t length, uint64_t now)
{
	struct adv_smb2_element e;
	size_t offset = 0;

	while (adv_smb2_element_at(message, length, offset, &e)) {
		count_element(t, c, &e, now);
		if (e.last)
			return;
		offset = e.offset + e.length;
	}
}
