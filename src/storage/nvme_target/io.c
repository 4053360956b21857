/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* I/O commands: from blocks to bytes of the backend (NVMe Base 1.4, section 6). */
#include <string.h>

#include "storage/nvme_target/controller.h"
#include "storage/nvme_target/fused.h"
#include "storage/nvme_target/respond.h"
#include "storage/nvme_target/namespace.h"
#include "storage/nvme_target/order.h"
#include "storage/nvme/status.h"

#define WRITE_ZEROES_DEALLOCATE (1u << 25)

static uint16_t find_namespace(struct adv_nvme_request *request)
{
	request->namespace = adv_nvme_namespace_find(request->queue->controller->subsystem,
						     request->command.nsid);
	if (!request->namespace)
		return ADV_NVME_INVALID_NAMESPACE | ADV_NVME_DNR;
	adv_nvme_namespace_get(request->namespace);
	request->io.backend = request->namespace->backend;
	return ADV_NVME_SUCCESS;
}

/* Sets the range of request->io. */
static uint16_t set_range(struct adv_nvme_request *request, uint64_t slba, uint64_t blocks)
{
	const struct adv_nvme_namespace *ns = request->namespace;

	if (slba > ns->blocks || blocks > ns->blocks - slba)
		return ADV_NVME_LBA_RANGE | ADV_NVME_DNR;
	request->io.offset = slba << ns->block_shift;
	request->io.length = blocks << ns->block_shift;
	return ADV_NVME_SUCCESS;
}

static bool wants_fua(const struct adv_nvme_request *request)
{
	return (ADV_NVME_CDW(&request->command, 12) & ADV_NVME_FUA) != 0 ||
	       request->queue->controller->no_write_cache;
}

static uint16_t start_blocks(struct adv_nvme_request *request, enum adv_nvme_io_kind kind)
{
	const struct adv_nvme_command *command = &request->command;
	uint16_t status = find_namespace(request);

	if (status != ADV_NVME_SUCCESS)
		return status;
	request->io.kind = kind;
	request->io.block = 1u << request->namespace->block_shift;
	status = set_range(request, adv_nvme_command_slba(command),
			   adv_nvme_command_blocks(command));
	if (status != ADV_NVME_SUCCESS)
		return status;
	request->io.fua = wants_fua(request);
	return ADV_NVME_SUCCESS;
}

static uint16_t start_transfer(struct adv_nvme_request *request, enum adv_nvme_io_kind kind)
{
	uint16_t status = start_blocks(request, kind);

	if (status != ADV_NVME_SUCCESS)
		return status;
	if (request->io.length > adv_nvme_target_transfer_max(request->queue->target))
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	request->data_length = (uint32_t)request->io.length;
	return ADV_NVME_SUCCESS;
}

static uint16_t check_writable(const struct adv_nvme_request *request, uint16_t status)
{
	if (status == ADV_NVME_SUCCESS && request->namespace->read_only)
		return ADV_NVME_WRITE_PROTECTED | ADV_NVME_DNR;
	return status;
}

static uint16_t read_start(struct adv_nvme_request *request)
{
	return start_transfer(request, ADV_NVME_IO_READ);
}

static uint16_t write_start(struct adv_nvme_request *request)
{
	return check_writable(request, start_transfer(request, ADV_NVME_IO_WRITE));
}

static uint16_t compare_start(struct adv_nvme_request *request)
{
	return start_transfer(request, ADV_NVME_IO_COMPARE);
}

static uint16_t zero_start(struct adv_nvme_request *request)
{
	request->io.may_deallocate =
		(ADV_NVME_CDW(&request->command, 12) & WRITE_ZEROES_DEALLOCATE) != 0;
	return check_writable(request, start_blocks(request, ADV_NVME_IO_ZERO));
}

static uint16_t flush_start(struct adv_nvme_request *request)
{
	request->io.kind = ADV_NVME_IO_FLUSH;
	return find_namespace(request);
}

static void io_execute(struct adv_nvme_request *request, uint64_t now)
{
	request->io.data = request->data;
	if (!adv_nvme_fused_ready(request))
		adv_nvme_order_submit(request);
}

/* --- Dataset Management --- */

static uint32_t range_count(const struct adv_nvme_request *request)
{
	return (ADV_NVME_CDW(&request->command, 10) & 0xff) + 1;
}

static uint16_t dataset_start(struct adv_nvme_request *request)
{
	uint16_t status = check_writable(request, find_namespace(request));

	if (status == ADV_NVME_SUCCESS)
		request->data_length = range_count(request) * ADV_NVME_RANGE_LEN;
	return status;
}

/* Checks all ranges before the first one is executed. */
static uint16_t check_ranges(struct adv_nvme_request *request)
{
	struct adv_nvme_range range;
	uint16_t status;

	for (uint32_t i = 0; i < range_count(request); i++) {
		adv_nvme_range_decode(request->data + i * ADV_NVME_RANGE_LEN, &range);
		status = set_range(request, range.slba, range.blocks);
		if (status != ADV_NVME_SUCCESS)
			return status;
	}
	return ADV_NVME_SUCCESS;
}

/* Runs for the command, and again after each executed range. */
static void dataset_execute(struct adv_nvme_request *request, uint64_t now)
{
	struct adv_nvme_range range;
	uint16_t status;

	if (request->range == 0) {
		status = check_ranges(request);
		if (status != ADV_NVME_SUCCESS) {
			adv_nvme_request_complete(request, status);
			return;
		}
	}
	/* Without the attribute Deallocate the ranges are hints about use, which change nothing. */
	while ((ADV_NVME_CDW(&request->command, 11) & ADV_NVME_DEALLOCATE) &&
	       request->range < range_count(request)) {
		adv_nvme_range_decode(request->data + request->range * ADV_NVME_RANGE_LEN, &range);
		request->range++;
		if (range.blocks == 0)
			continue;
		request->io.kind = ADV_NVME_IO_DEALLOCATE;
		set_range(request, range.slba, range.blocks);
		adv_nvme_order_submit(request);
		return;
	}
	adv_nvme_request_complete(request, ADV_NVME_SUCCESS);
}

/* --- Copy --- */

static uint32_t source_count(const struct adv_nvme_request *request)
{
	return ADV_NVME_COPY_SOURCES(ADV_NVME_CDW(&request->command, 12));
}

static uint16_t copy_start(struct adv_nvme_request *request)
{
	uint16_t status = check_writable(request, find_namespace(request));

	if (status != ADV_NVME_SUCCESS)
		return status;
	if (ADV_NVME_COPY_FORMAT(ADV_NVME_CDW(&request->command, 12)) != 0)
		return ADV_NVME_INVALID_FIELD | ADV_NVME_DNR;
	if (source_count(request) > ADV_NVME_SOURCES_MAX)
		return ADV_NVME_COPY_LIMIT | ADV_NVME_DNR;
	request->io.fua = wants_fua(request);
	request->data_length = source_count(request) * ADV_NVME_SOURCE_LEN;
	return ADV_NVME_SUCCESS;
}

/* Sets source and destination of a range. `done`: blocks of the ranges before. */
static uint16_t set_source(struct adv_nvme_request *request, uint32_t index, uint64_t done)
{
	struct adv_nvme_source source;
	uint16_t status;

	adv_nvme_source_decode(request->data + index * ADV_NVME_SOURCE_LEN, &source);
	if (source.blocks > adv_nvme_copy_range_max(request->namespace))
		return ADV_NVME_COPY_LIMIT | ADV_NVME_DNR;
	status = set_range(request, source.slba, source.blocks);
	request->io.source = request->io.offset;
	if (status != ADV_NVME_SUCCESS)
		return status;
	/* Neither number overflows: the blocks of all ranges fit into 32 bits. */
	if (adv_nvme_command_slba(&request->command) > request->namespace->blocks)
		return ADV_NVME_LBA_RANGE | ADV_NVME_DNR;
	return set_range(request, adv_nvme_command_slba(&request->command) + done, source.blocks);
}

/* Runs for the command, and again after each copied range. Checks all ranges before the first one
 * is copied. The result is the number of ranges that were copied. */
static void copy_execute(struct adv_nvme_request *request, uint64_t now)
{
	uint32_t shift = request->namespace->block_shift, last = source_count(request);
	uint16_t status = ADV_NVME_SUCCESS;
	uint64_t done = 0;

	for (uint32_t i = 0; i < (request->range ? request->range : last); i++) {
		status = set_source(request, i, done);
		if (status != ADV_NVME_SUCCESS) {
			adv_nvme_request_complete(request, status);
			return;
		}
		done += request->io.length >> shift;
	}
	request->result = request->range;
	if (request->range == last) {
		adv_nvme_request_complete(request, ADV_NVME_SUCCESS);
		return;
	}
	if (request->range == 0)
		done = 0;
	/* The namespace does not shrink, so this succeeds as it did before. */
	set_source(request, request->range++, done);
	request->io.kind = ADV_NVME_IO_COPY;
	adv_nvme_order_submit(request);
}

const struct adv_nvme_handler adv_nvme_io_handlers[] = {
	{ADV_NVME_FLUSH, flush_start, io_execute, false},
	{ADV_NVME_WRITE, write_start, io_execute, false},
	{ADV_NVME_READ, read_start, io_execute, false},
	{ADV_NVME_COMPARE, compare_start, io_execute, false},
	{ADV_NVME_WRITE_ZEROES, zero_start, io_execute, false},
	{ADV_NVME_DATASET_MANAGEMENT, dataset_start, dataset_execute, true},
	{ADV_NVME_COPY, copy_start, copy_execute, true},
	{0},
};
