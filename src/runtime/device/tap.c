/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures of a device's packets, and the order of its links. From the engine to the network: the
 * tap of the engine, the fault plan, the tap of the wire, the port of
 * an emulated fabric or the link of RoCE v1, shared memory, UDP. An iWARP device puts
 * the link of its connections on top, which sends nothing through the others: it asks the fault
 * plan itself, and writes into both taps (stream_tap.c). A tap is there only while there is a
 * capture, a fault link only while a plan is in force.
 */
#include "base/log.h"
#include "base/sys.h"
#include "runtime/exchange/capture_exchange.h"
#include "runtime/device/internal.h"
#include "runtime/device/streams.h"

struct adv_link *adv_device_wire(struct adv_device *d)
{
	struct adv_link *inner = d->shm ? d->shm : d->udp;

	if (d->port)
		inner = d->port;
	else if (d->raw)
		inner = d->raw;
	return adv_tap_wrap(&d->tap[ADV_CAPTURE_WIRE], inner);
}

void adv_device_stack_links(struct adv_device *d)
{
	struct adv_link *top = adv_device_wire(d);

	if (d->fault) {
		adv_fault_link_set_inner(d->fault, top);
		top = d->fault;
	}
	d->link = adv_device_streams_wrap(d, adv_tap_wrap(&d->tap[ADV_CAPTURE_ENGINE], top));
}

bool adv_device_capture_serve(struct adv_device *d, int fd)
{
	if (!adv_capture_answer(fd, d->tap, d->slot.number, ADV_TAP_SIZE_MAX))
		return false;
	(void)adv_device_watch(d, EPOLL_CTL_ADD, fd, EPOLLRDHUP, DEVICE_SOURCE_CAPTURE);
	adv_device_stack_links(d);
	adv_info("a capture begins");
	return true;
}

void adv_device_captures_look(struct adv_device *d)
{
	bool ended = false;

	for (unsigned i = 0; i < ADV_CAPTURE_PLACES; i++) {
		int fd;

		while ((fd = adv_tap_ended(&d->tap[i])) >= 0) {
			(void)adv_device_watch(d, EPOLL_CTL_DEL, fd, 0, DEVICE_SOURCE_CAPTURE);
			adv_tap_detach(&d->tap[i], fd);
			ended = true;
		}
	}
	if (!ended)
		return;
	adv_device_stack_links(d);
	adv_info("a capture has ended");
}
