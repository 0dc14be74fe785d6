-- Another client, the same server: nvim --headless --clean -n -c 'luafile tests/e2e/neovim.lua', from the root.
-- Works from Neovim 0.7 on, which Debian 12 has. Ends with exit code 1 at the first thing that is not as it should be.
local root = vim.fn.getcwd()
local folder = vim.fn.tempname()
local states = {}
local passed = 0

local function check(ok, what)
  if not ok then
    io.stderr:write('FAILED ' .. what .. '\n')
    vim.cmd('cquit 1')
  end
  passed = passed + 1
  io.stdout:write('ok ' .. what .. '\n')
end

local function wait(what, ask, seconds)
  check(vim.wait((seconds or 30) * 1000, ask, 50), what)
end

local function open(name)
  vim.fn.mkdir(folder, 'p')
  vim.fn.writefile(vim.fn.readfile(root .. '/examples/' .. name), folder .. '/' .. name)
  vim.cmd('edit ' .. folder .. '/' .. name)
  return vim.api.nvim_get_current_buf()
end

local function line_of(buffer, text)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    if line:find(text, 1, true) then return number end
  end
end

local function request(buffer, method, params, seconds)
  local answers, problem = vim.lsp.buf_request_sync(buffer, method, params, (seconds or 30) * 1000)
  check(answers ~= nil, method .. ' is answered ' .. tostring(problem or ''))
  local _, answer = next(answers)
  check(answer.error == nil, method .. ' succeeds ' .. vim.inspect(answer.error or ''))
  return answer.result
end

local function main()
  local client
  local function start(buffer)
    if client then return vim.lsp.buf_attach_client(buffer, client) end
    client = vim.lsp.start_client({
      name = 'compile-lens',
      cmd = { root .. '/.venv/bin/compile-lens', 'server' },
      root_dir = folder,
      init_options = { trusted = true, interpreter = { root .. '/.venv/bin/python' }, interpreterSource = 'Neovim', locale = 'en' },
      handlers = { ['compileLens/probe'] = function(_, state) table.insert(states, state) end },
    })
    vim.lsp.buf_attach_client(buffer, client)
  end

  local buffer = open('breaks.py')
  start(buffer)
  local number = line_of(buffer, 'print(')
  local function marked()
    return #vim.tbl_filter(function(d) return d.lnum == number - 1 and d.message:find('print', 1, true) end, vim.diagnostic.get(buffer)) > 0
  end
  wait('the breaking line is marked', marked)

  vim.api.nvim_win_set_cursor(0, { number, 8 })
  vim.ui.select = function(items, _, choose) choose(items[1], 1) end
  vim.lsp.buf.code_action()
  wait('the first code action mends it', function() return line_of(buffer, 'is_compiling') ~= nil end)
  wait('the mark is gone', function() number = line_of(buffer, 'print("spread"'); return not marked() end)

  local clean = open('clean.py')
  start(clean)
  local lenses = request(clean, 'textDocument/codeLens', { textDocument = vim.lsp.util.make_text_document_params(clean) })
  local command
  for _, lens in ipairs(lenses) do
    if lens.command and lens.command.command == 'compileLens.probe' then command = lens.command end
  end
  check(command ~= nil, 'a code lens offers a probe')
  local state = request(clean, 'workspace/executeCommand', { command = command.command, arguments = command.arguments }, 300)
  check(state.status == 'ok', 'the probe ends well: ' .. tostring(state.message))
  check(vim.startswith(state.text, 'CPU '), 'it says on which device: ' .. state.text)
  check(states[1].state == 'running' and states[#states].state == 'done' and states[#states].text == state.text, 'its states were told on the way')

  local process = vim.fn.systemlist({ 'pgrep', '-P', tostring(vim.fn.getpid()), '-f', 'compile-lens server' })[1]
  check(process ~= nil, 'the server is our child')
  vim.lsp.stop_client(client)
  wait('the server ends with its client', function() return vim.fn.isdirectory('/proc/' .. process) == 0 end)
  io.stdout:write(passed .. ' checks passed\n')
  vim.cmd('quitall!')
end

local fine, problem = xpcall(main, debug.traceback)
if not fine then
  io.stderr:write(problem .. '\n')
  vim.cmd('cquit 1')
end
