/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers requests of tools that adverbd passes on to a device. */
#include <string.h>

#include "base/sys.h"
#include "runtime/device/internal.h"
#include "runtime/device/streams.h"
#include "runtime/exchange/resource_exchange.h"

static unsigned count_contexts(const struct adv_device *d)
{
	return adv_list_length(&d->users);
}

static uint32_t number_of(const struct adv_device *d, const void *owner)
{
	adv_list_for_each(const struct device_user, u, &d->first->users, node) {
		if (u->user == owner)
			return u->number;
	}
	return 0;
}

/* Lists the contexts whose numbers are above *from. Sets *from to the number of the last listed
 * context. */
static unsigned list_contexts(const struct adv_device *d, uint64_t *from, struct adv_object *out,
			      unsigned room)
{
	unsigned count = 0;

	memset(out, 0, room * sizeof(*out));
	adv_list_for_each(const struct device_user, u, &d->users, node) {
		if (u->number <= *from)
			continue;
		if (count == room)
			return count;
		out[count].number = out[count].context = u->number;
		*from = out[count++].number;
	}
	*from = ADV_RESOURCES_END;
	return count;
}

static unsigned list_objects(void *user, enum adv_resource_kind kind, uint64_t *from,
			     struct adv_object *out, unsigned room)
{
	const void *owners[ADV_RESOURCE_EXCHANGE_MOST];
	const struct adv_device *d = user;
	unsigned count;

	if (kind == ADV_RESOURCE_CTX)
		return list_contexts(d, from, out, room);
	count = adv_engine_resources(d->engine, kind, from, out, owners, room);
	if (kind == ADV_RESOURCE_QP)
		adv_device_streams_describe(d, out, count);
	if (kind != ADV_RESOURCE_SUMMARY) {
		for (unsigned i = 0; i < count; i++) {
			out[i].context = number_of(d, owners[i]);
			out[i].slot = d->first->slot.number;
		}
	} else if (count) {
		out[count].type = ADV_RESOURCE_CTX;
		out[count++].users = count_contexts(d);
	}
	return count;
}

void adv_device_serve_tool(struct adv_device *d)
{
	int fd = adv_control_take_fault(d->control);

	if (adv_capture_is_asked(fd)) {
		if (adv_device_capture_serve(d, fd))
			return;
	} else if (adv_resource_is_asked(fd)) {
		adv_resource_answer(fd, d->slot.number, list_objects, d);
	} else {
		adv_device_fault_serve(d, fd);
	}
	adv_sys_close(fd);
}
