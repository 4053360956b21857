/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Get Log Page (NVMe Base 1.4, section 5.14; NVMe over Fabrics 1.1, section 5.3). */
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "base/bytes.h"
#include "storage/nvme_target/controller.h"
#include "storage/nvme_target/respond.h"
#include "storage/nvme/status.h"
#include "storage/nvme_target/subsystem.h"
#include "storage/kit/text.h"

/* A page, as a whole. */
struct page {
	uint8_t *data;
	size_t len;
};

/* Makes a page of zeros. False: no memory. */
static bool page_create(struct page *page, size_t len)
{
	page->len = len;
	page->data = calloc(1, len);
	return page->data != NULL;
}

/* The newest error is the first entry. */
static bool error_page(struct adv_nvme_controller *c, struct page *page)
{
	if (!page_create(page, ADV_NVME_ERRORS * ADV_NVME_ERROR_LEN))
		return false;
	for (uint64_t i = 0; i < ADV_NVME_ERRORS && i < c->error_count; i++)
		adv_nvme_error_encode(&c->errors[(c->error_count - 1 - i) % ADV_NVME_ERRORS],
				      page->data + i * ADV_NVME_ERROR_LEN);
	return true;
}

static bool smart_page(struct adv_nvme_controller *c, struct page *page)
{
	struct adv_nvme_smart smart = c->subsystem->smart;

	if (!page_create(page, ADV_NVME_SMART_LEN))
		return false;
	smart.units_read = (smart.units_read + 511999) / 512000;
	smart.units_written = (smart.units_written + 511999) / 512000;
	smart.temperature = 300;
	smart.spare = 100;
	smart.spare_threshold = 10;
	smart.error_entries = c->error_count;
	adv_nvme_smart_encode(&smart, page->data);
	return true;
}

/* Slot 1 is active. */
static bool firmware_page(struct adv_nvme_controller *c, struct page *page)
{
	if (!page_create(page, ADV_NVME_FIRMWARE_LOG_LEN))
		return false;
	page->data[0] = 1;
	adv_kit_put_text(page->data + 8, ADV_NVME_FIRMWARE_LEN, ADV_VERSION);
	return true;
}

static bool changed_page(struct adv_nvme_controller *c, struct page *page)
{
	if (!page_create(page, ADV_NVME_CHANGED_LEN))
		return false;
	adv_nvme_identify_list_encode(c->changed, c->changed_count, page->data);
	return true;
}

/* One group with all namespaces, whose paths are all optimized. It never changes. The page has the
 * length of one with the most namespaces, which hosts read in pieces (nvme-cli). */
static bool ana_page(struct adv_nvme_controller *c, struct page *page)
{
	const struct adv_nvme_subsystem *s = c->subsystem;
	uint32_t nsids[ADV_NVME_NSID_MAX];
	struct adv_nvme_ana_group group = {
		.id = ADV_NVME_ANA_GROUP, .state = ADV_NVME_ANA_OPTIMIZED, .nsids = nsids};

	for (uint32_t i = 1; i <= ADV_NVME_NSID_MAX; i++) {
		if (s->namespaces[i])
			nsids[group.count++] = i;
	}
	if (!page_create(page, ADV_NVME_ANA_LEN(ADV_NVME_NSID_MAX)))
		return false;
	adv_nvme_ana_encode(&group, page->data);
	return true;
}

/* --- discovery --- */

static bool is_wildcard(const struct adv_nvme_port *port)
{
	return strcmp(port->traddr, "0.0.0.0") == 0 || strcmp(port->traddr, "::") == 0;
}

/* Encodes an entry. `out` NULL: it is only counted. */
static void put_entry(uint8_t *out, const struct adv_nvme_queue *queue,
		      const struct adv_nvme_port *port, const char *nqn)
{
	struct adv_nvme_discovery_entry e = {
		.trtype = ADV_NVME_TRANSPORT_RDMA,
		.adrfam = port->adrfam,
		.subtype = port->referral ? ADV_NVME_SUBTYPE_REFERRAL : ADV_NVME_SUBTYPE_NVM,
		.treq = 2, /* a secure channel is not required */
		.portid = 1,
		.cntlid = ADV_NVME_ANY_CNTLID,
		.asqsz = ADV_NVME_ADMIN_QUEUE_SIZE,
		.rdma_qptype = 1,
		.rdma_prtype = 1,
		.rdma_cms = ADV_NVME_RDMA_CM,
	};

	if (!out)
		return;
	memcpy(e.trsvcid, port->trsvcid, sizeof(e.trsvcid));
	strncpy(e.subnqn, nqn, ADV_NVME_NQN_MAX);
	memcpy(e.traddr, port->traddr, sizeof(e.traddr));
	if (!port->referral && is_wildcard(port)) {
		e.adrfam = queue->adrfam;
		memcpy(e.traddr, queue->local_address, sizeof(e.traddr));
	}
	adv_nvme_discovery_entry_encode(&e, out);
}

/* Writes the entries that this host may see to `out`, if it is not NULL. Returns their number. */
static size_t put_entries(uint8_t *out, const struct adv_nvme_controller *c)
{
	const struct adv_nvme_target *target = c->subsystem->target;
	size_t count = 0;

	adv_list_for_each(struct adv_nvme_port, port, &target->ports, link) {
		if (port->referral) {
			put_entry(out ? out + count * ADV_NVME_DISCOVERY_LEN : NULL, c->admin, port,
				  ADV_NVME_DISCOVERY_NQN);
			count++;
			continue;
		}
		adv_list_for_each(struct adv_nvme_subsystem, s, &target->subsystems, link) {
			if (s->discovery || !adv_nvme_subsystem_allows(s, c->host_nqn))
				continue;
			put_entry(out ? out + count * ADV_NVME_DISCOVERY_LEN : NULL, c->admin, port,
				  s->nqn);
			count++;
		}
	}
	return count;
}

static bool discovery_page(struct adv_nvme_controller *c, struct page *page)
{
	struct adv_nvme_discovery_header header = {
		.generation = c->subsystem->target->generation,
		.records = put_entries(NULL, c),
	};

	if (!page_create(page, (1 + header.records) * ADV_NVME_DISCOVERY_LEN))
		return false;
	adv_nvme_discovery_header_encode(&header, page->data);
	put_entries(page->data + ADV_NVME_DISCOVERY_LEN, c);
	return true;
}

static const struct {
	uint8_t id;
	bool discovery; /* of discovery controllers, else of I/O controllers */
	bool (*make)(struct adv_nvme_controller *c, struct page *page);
} pages[] = {
	{ADV_NVME_LOG_ERROR, false, error_page},
	{ADV_NVME_LOG_SMART, false, smart_page},
	{ADV_NVME_LOG_FIRMWARE, false, firmware_page},
	{ADV_NVME_LOG_CHANGED_NAMESPACES, false, changed_page},
	{ADV_NVME_LOG_ANA, false, ana_page},
	{ADV_NVME_LOG_DISCOVERY, true, discovery_page},
};

static int find_page(const struct adv_nvme_controller *c, uint8_t id)
{
	for (unsigned i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (pages[i].id == id && pages[i].discovery == c->subsystem->discovery)
			return (int)i;
	}
	return -1;
}

uint16_t adv_nvme_log_start(struct adv_nvme_request *request)
{
	struct adv_nvme_get_log log;

	if (!adv_nvme_get_log_decode(&request->command, &log) ||
	    log.length > adv_nvme_target_transfer_max(request->queue->target) ||
	    log.offset % 4 != 0)
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	if (find_page(request->queue->controller, log.id) < 0)
		return ADV_NVME_INVALID_LOG_PAGE | ADV_NVME_DNR;
	request->data_length = log.length;
	return ADV_NVME_SUCCESS;
}

/* The host has read the page of an event. */
static void note_read(struct adv_nvme_controller *c, const struct adv_nvme_get_log *log)
{
	if (log->retain)
		return;
	if (log->id == ADV_NVME_LOG_CHANGED_NAMESPACES) {
		c->changed_count = 0;
		adv_nvme_controller_unmask(c, ADV_NVME_PENDING_NAMESPACE);
	} else if (log->id == ADV_NVME_LOG_DISCOVERY) {
		adv_nvme_controller_unmask(c, ADV_NVME_PENDING_DISCOVERY);
	}
}

static uint16_t read_page(struct adv_nvme_request *request)
{
	struct adv_nvme_controller *c = request->queue->controller;
	struct adv_nvme_get_log log;
	struct page page;
	uint64_t len;

	if (!c)
		return ADV_NVME_ABORTED_SQ_DELETION;
	adv_nvme_get_log_decode(&request->command, &log);
	if (!pages[find_page(c, log.id)].make(c, &page))
		return ADV_NVME_INTERNAL_ERROR;
	if (log.offset > page.len) {
		free(page.data);
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	}
	len = page.len - log.offset < log.length ? page.len - log.offset : log.length;
	memcpy(request->data, page.data + log.offset, len);
	memset(request->data + len, 0, log.length - len);
	free(page.data);
	note_read(c, &log);
	return ADV_NVME_SUCCESS;
}

void adv_nvme_log_execute(struct adv_nvme_request *request, uint64_t now)
{
	adv_nvme_request_complete(request, read_page(request));
}
