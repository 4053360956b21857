/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme/status.h"

#include "base/array.h"

static const struct {
	uint16_t status;
	const char *name;
} names[] = {
	{ADV_NVME_SUCCESS, "success"},
	{ADV_NVME_INVALID_OPCODE, "invalid command opcode"},
	{ADV_NVME_INVALID_FIELD, "invalid field in command"},
	{ADV_NVME_ID_CONFLICT, "command ID conflict"},
	{ADV_NVME_DATA_TRANSFER_ERROR, "data transfer error"},
	{ADV_NVME_INTERNAL_ERROR, "internal error"},
	{ADV_NVME_ABORT_REQUESTED, "command abort requested"},
	{ADV_NVME_ABORTED_SQ_DELETION, "command aborted due to SQ deletion"},
	{ADV_NVME_FAILED_FUSED, "command aborted due to failed fused command"},
	{ADV_NVME_MISSING_FUSED, "command aborted due to missing fused command"},
	{ADV_NVME_INVALID_NAMESPACE, "invalid namespace or format"},
	{ADV_NVME_SEQUENCE_ERROR, "command sequence error"},
	{ADV_NVME_INVALID_SGL_SEGMENT, "invalid SGL segment descriptor"},
	{ADV_NVME_INVALID_SGL_COUNT, "invalid number of SGL descriptors"},
	{ADV_NVME_INVALID_SGL_LENGTH, "data SGL length invalid"},
	{ADV_NVME_INVALID_SGL_TYPE, "SGL descriptor type invalid"},
	{ADV_NVME_INVALID_SGL_OFFSET, "SGL offset invalid"},
	{ADV_NVME_HOST_ID_INCONSISTENT, "host identifier inconsistent format"},
	{ADV_NVME_KEEP_ALIVE_EXPIRED, "keep alive timeout expired"},
	{ADV_NVME_KEEP_ALIVE_INVALID, "keep alive timeout invalid"},
	{ADV_NVME_WRITE_PROTECTED, "namespace is write protected"},
	{ADV_NVME_LBA_RANGE, "LBA out of range"},
	{ADV_NVME_CAPACITY_EXCEEDED, "capacity exceeded"},
	{ADV_NVME_NAMESPACE_NOT_READY, "namespace not ready"},
	{ADV_NVME_AER_LIMIT, "asynchronous event request limit exceeded"},
	{ADV_NVME_INVALID_LOG_PAGE, "invalid log page"},
	{ADV_NVME_FEATURE_NOT_SAVEABLE, "feature identifier not saveable"},
	{ADV_NVME_FEATURE_NOT_CHANGEABLE, "feature not changeable"},
	{ADV_NVME_CONNECT_FORMAT, "connect incompatible format"},
	{ADV_NVME_CONNECT_BUSY, "connect controller busy"},
	{ADV_NVME_CONNECT_INVALID, "connect invalid parameters"},
	{ADV_NVME_CONNECT_RESTART, "connect restart discovery"},
	{ADV_NVME_CONNECT_HOST, "connect invalid host"},
	{ADV_NVME_AUTHENTICATION_REQUIRED, "authentication required"},
	{ADV_NVME_WRITE_FAULT, "write fault"},
	{ADV_NVME_READ_ERROR, "unrecovered read error"},
	{ADV_NVME_COMPARE_FAILURE, "compare failure"},
	{ADV_NVME_ACCESS_DENIED, "access denied"},
};

const char *adv_nvme_status_name(uint16_t status)
{
	for (size_t i = 0; i < ADV_ARRAY_SIZE(names); i++) {
		if (names[i].status == ADV_NVME_CODE(status))
			return names[i].name;
	}
	return "unknown status";
}
