/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_target/order.h"
#include "storage/nvme_target/outbox.h"

static bool is_ordered(const struct adv_nvme_request *request)
{
	enum adv_nvme_io_kind kind = request->io.kind;

	return kind == ADV_NVME_IO_WRITE || kind == ADV_NVME_IO_ZERO ||
	       kind == ADV_NVME_IO_DEALLOCATE || kind == ADV_NVME_IO_COPY || request->partner;
}

static bool ranges_overlap(const struct adv_nvme_io *a, const struct adv_nvme_io *b)
{
	return a->offset < b->offset + b->length && b->offset < a->offset + a->length;
}

/* True if a request of `list` before `until` overlaps. */
static bool overlaps_one(const struct adv_list *list, const struct adv_nvme_request *until,
			 const struct adv_nvme_io *io)
{
	adv_list_for_each(struct adv_nvme_request, r, list, order) {
		if (r == until)
			return false;
		if (ranges_overlap(&r->io, io))
			return true;
	}
	return false;
}

static void let_act(struct adv_nvme_request *request)
{
	adv_nvme_request_act(request,
			     request->placed ? ADV_NVME_ACTION_FETCH : ADV_NVME_ACTION_SUBMIT);
}

void adv_nvme_order_submit(struct adv_nvme_request *request)
{
	struct adv_nvme_namespace *ns = request->namespace;

	if (is_ordered(request)) {
		if (overlaps_one(&ns->writing, NULL, &request->io) ||
		    overlaps_one(&ns->waiting, NULL, &request->io)) {
			request->state = ADV_NVME_REQUEST_HELD;
			adv_list_add_tail(&ns->waiting, &request->order);
			return;
		}
		adv_list_add_tail(&ns->writing, &request->order);
	}
	let_act(request);
}

static void submit_waiting(struct adv_nvme_namespace *ns)
{
	adv_list_for_each_safe(struct adv_nvme_request, r, &ns->waiting, order) {
		if (overlaps_one(&ns->writing, NULL, &r->io) ||
		    overlaps_one(&ns->waiting, r, &r->io))
			continue;
		adv_list_del(&r->order);
		adv_list_add_tail(&ns->writing, &r->order);
		let_act(r);
	}
}

void adv_nvme_order_executed(struct adv_nvme_request *request)
{
	if (adv_list_empty(&request->order))
		return;
	adv_list_del(&request->order);
	submit_waiting(request->namespace);
}

void adv_nvme_order_hand_over(struct adv_nvme_request *from, struct adv_nvme_request *to)
{
	adv_list_add(&from->order, &to->order);
	adv_list_del(&from->order);
}

void adv_nvme_order_cancel(struct adv_nvme_request *request)
{
	adv_list_del(&request->order);
	submit_waiting(request->namespace);
}
