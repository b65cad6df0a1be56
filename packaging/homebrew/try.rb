# Runs a formula without Homebrew, for packaging/check: ruby try.rb FORMULA SOURCES PREFIX
# Has just the words that the formula uses; what else Homebrew would say of it is not tried.
require "digest"
require "fileutils"
require "pathname"
require "tmpdir"

class Formula
  class << self
    attr_reader :facts, :body

    def inherited(formula)
      $formula = formula
      formula.instance_variable_set(:@facts, {})
      super
    end

    %i[desc url version sha256 license].each { |word| define_method(word) { |value| @facts[word] = value } }

    def depends_on(_what); end

    def test(&body)
      @body = body
    end
  end

  # A directory that files are installed into, under their own name or another.
  class Place < Pathname
    def install(files)
      mkpath
      named = files.is_a?(Hash) ? files : Array(files).to_h { |file| [file, File.basename(file)] }
      raise "nothing to install in #{self}" if named.empty?
      named.each { |file, name| FileUtils.cp(file, self/name) }
    end
  end

  def prefix = Place.new(ARGV[2])
  def bin = Place.new(prefix/"bin")
  def man1 = Place.new(prefix/"share/man/man1")
  def bash_completion = Place.new(prefix/"etc/bash_completion.d")
  def zsh_completion = Place.new(prefix/"share/zsh/site-functions")
  def fish_completion = Place.new(prefix/"share/fish/vendor_completions.d")
  def testpath = Pathname.new(ENV.fetch("HOME"))
  def std_cargo_args = ["--locked", "--root=#{prefix}", "--path=."]

  def system(*words)
    Kernel.system(*words.map(&:to_s), exception: true)
  end

  def cd(dir, &) = Dir.chdir(dir, &)

  def shell_output(command)
    output = `#{command}`
    raise "#{command}: #{$?}" unless $?.success?
    output
  end

  def assert_match(pattern, text)
    raise "#{pattern.inspect} is not in #{text.inspect}" unless text.match?(pattern)
  end
end

load ARGV[0]
facts = $formula.facts
file = facts[:url].delete_prefix("file://")
raise "the checksum is another" if File.exist?(file) && Digest::SHA256.file(file).hexdigest != facts[:sha256]
made = $formula.new
Dir.chdir(ARGV[1]) { made.install }
Dir.mktmpdir do |dir|
  ENV["HOME"] = dir
  Dir.chdir(dir) { made.instance_eval(&$formula.body) }
end
