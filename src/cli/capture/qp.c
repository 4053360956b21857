/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/capture/qp.h"

#include <string.h>

#include "base/clock.h"
#include "cli/observe/objects.h"
#include "runtime/exchange/resources.h"

#define READ_AGAIN_NS 100000000u /* the peer is read at most this often */

static bool take_qp(void *user, const struct adv_object *r)
{
	struct adv_capture_qp *qp = user;

	if (r->number != qp->qpn)
		return true;
	if (adv_object_has_peer(r)) {
		qp->remote = r->qp.remote;
		memcpy(qp->dgid.raw, r->qp.dgid, sizeof(qp->dgid.raw));
	}
	return false;
}

/* Reads the QP's peer, if that was not tried just now. */
static void read_peer(struct adv_capture_qp *qp, struct adv_control *c, uint32_t pid)
{
	const struct adv_resource_query query = {
		.kind = ADV_RESOURCE_QP, .pid = pid, .fn = take_qp, .user = qp};
	uint64_t now = adv_clock_ns();

	if (!c || (qp->read_at && now - qp->read_at < READ_AGAIN_NS))
		return;
	(void)adv_resources_each(c, &query);
	qp->read_at = adv_clock_ns();
}

static bool goes_to_peer(const struct adv_capture_qp *qp, const struct adv_tap_record *record,
			 const struct adv_capture_frame *frame)
{
	return qp->remote && frame->bth.dest_qpn == qp->remote &&
	       adv_gid_equal(&record->dgid, &qp->dgid);
}

bool adv_capture_qp_has(struct adv_capture_qp *qp, struct adv_control *c, uint32_t pid,
			const struct adv_tap_record *record, const struct adv_capture_frame *frame)
{
	if (frame->own_qpn)
		return frame->own_qpn == qp->qpn;
	if (!frame->out)
		return frame->bth.dest_qpn == qp->qpn;
	if (frame->src_qpn)
		return frame->src_qpn == qp->qpn;
	if (!goes_to_peer(qp, record, frame))
		read_peer(qp, c, pid);
	return goes_to_peer(qp, record, frame);
}
